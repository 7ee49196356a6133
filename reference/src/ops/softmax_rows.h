// Rows along an axis, shared by Softmax and LogSoftmax.
#pragma once

#include "arithmetic/softmax.h"
#include "qtx/reference/op.h"

namespace qtx::reference {

/// `function` of every row of input 0 along attribute `axis`; before opset 13 all axes from that
/// one on are one row.
Result<format::Tensor> RunSoftmax(const Call& call, RowFunction function);

}  // namespace qtx::reference
