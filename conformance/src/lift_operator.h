// Stock quantized operators as operators on quantized tensors, so that one fault model does for
// both.
#pragma once

#include <optional>

#include "fault.h"

namespace qtx::conformance {

/// `question` with its one node of QuantizeLinear, DequantizeLinear, QLinearConv, QLinearMatMul,
/// ConvInteger or MatMulInteger written as Identity, Conv or MatMul on tensors of the parameters
/// that were inputs. nullopt for other models, and parameters that have no such form.
std::optional<Question> LiftOperator(const Question& question);

}  // namespace qtx::conformance
