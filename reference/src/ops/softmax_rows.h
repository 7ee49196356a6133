// Rows along an axis, shared by Softmax, LogSoftmax and Hardmax.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "arithmetic/softmax.h"
#include "qtx/reference/op.h"

namespace qtx::reference {

/// Calls `put` with the elements of every row of input 0 along attribute `axis`; before opset 13
/// all axes from that one on are one row.
void ForEachSoftmaxRow(const Call& call,
                       const std::function<void(std::span<const std::int64_t> row)>& put);

/// `function` of every such row.
Result<format::Tensor> RunSoftmax(const Call& call, RowFunction function);

}  // namespace qtx::reference
