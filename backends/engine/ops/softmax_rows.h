// Rows that Softmax and LogSoftmax run along, and their shares by intervals.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/ops/indexing.h"
#include "engine/plan.h"

namespace qtx::backend::engine {

/// The rows that the node normalizes.  Source: softmax.S4.
AxisRows SoftmaxRowsOf(const NodePlan& node, const format::Dims& dims);

/// Shares of reals.
std::unique_ptr<Step> MakeGeneralSoftmax(const NodePlan& node, const Value* x, Value* y,
                                         const AxisRows& rows);
/// Shares, or their logarithms, of any types.
std::unique_ptr<Step> MakeSoftmaxRows(const Value* x, Value* y, const AxisRows& rows,
                                      bool logarithms);

}  // namespace qtx::backend::engine
