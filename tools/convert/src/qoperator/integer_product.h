// MatMulInteger and ConvInteger with what ONNX Runtime's quantizer puts after them:
//
//   MatMulInteger(x, w) -> Cast to FLOAT -> Mul by x_scale * w_scale
//
// is one product of quantized tensors with a FLOAT result, when the scales are constants.
#pragma once

#include "qoperator/lift.h"

namespace qtx::convert {

Result<std::optional<Lift>> LiftIntegerProduct(const LiftContext& context, std::size_t node);

}  // namespace qtx::convert
