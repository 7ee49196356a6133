// Products with a FLOAT bias, which become MatMul and Add.
#pragma once

#include "qoperator/lift.h"

namespace qtx::convert {

/// Adds an Add of `bias` after the product of `lift`, with a common origin group. Does nothing for
/// "".
void AddBiasAfter(const LiftContext& context, const std::string& bias, Lift& lift);

/// Lifts com.microsoft.MatMulIntegerToFloat, given the lifted `product`.
Result<std::optional<Lift>> LiftProductToFloat(const LiftContext& context, const format::Node& node,
                                               Lift product);

}  // namespace qtx::convert
