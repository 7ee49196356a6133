// Softmax and LogSoftmax: their rows, and the general paths that compute them.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/ops/indexing.h"
#include "engine/plan.h"

namespace qtx::backend::engine {

/// The rows that the node normalizes.  Source: softmax.S4.
AxisRows SoftmaxRowsOf(const NodePlan& node, const format::Dims& dims);

/// Softmax of reals.
std::unique_ptr<Step> MakeGeneralSoftmax(const NodePlan& node, const Value* x, Value* y,
                                         const AxisRows& rows);
/// Softmax or, with `logarithms`, LogSoftmax of any types.
std::unique_ptr<Step> MakeSoftmaxRows(const Value* x, Value* y, const AxisRows& rows,
                                      bool logarithms);

}  // namespace qtx::backend::engine
