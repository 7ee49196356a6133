// A product with a FLOAT bias, which is MatMul and Add in ONNX.
#pragma once

#include "qoperator/lift.h"

namespace qtx::convert {

/// Puts the Add of `bias` after the product of `lift`, in one group of origin. Nothing for "".
void AddBiasAfter(const LiftContext& context, const std::string& bias, Lift& lift);

/// com.microsoft.MatMulIntegerToFloat, where `product` is what its layout makes of it.
Result<std::optional<Lift>> LiftProductToFloat(const LiftContext& context, const format::Node& node,
                                               Lift product);

}  // namespace qtx::convert
