// Rows that Softmax and LogSoftmax run along, and their shares by intervals.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/plan.h"

namespace qtx::backend::engine {

/// outer * inner rows of `length` elements that are `inner` apart.
struct SoftmaxRows {
  std::int64_t outer = 1, length = 1, inner = 1;
};
/// Before opset 13 rows run over the axis and all after it.
SoftmaxRows SoftmaxRowsOf(const NodePlan& node, const format::Dims& dims);

/// Shares of reals.
std::unique_ptr<Step> MakeGeneralSoftmax(const NodePlan& node, const Value* x, Value* y,
                                         const SoftmaxRows& rows);
/// Shares, or their logarithms, of any types.
std::unique_ptr<Step> MakeSoftmaxRows(const Value* x, Value* y, const SoftmaxRows& rows,
                                      bool logarithms);

}  // namespace qtx::backend::engine
