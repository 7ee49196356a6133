// Lifts stock quantized operators to operators on quantized tensors, so that one fault model serves
// both forms.
#pragma once

#include <optional>

#include "fault.h"

namespace qtx::conformance {

/// Rewrites a question whose one node is QuantizeLinear, DequantizeLinear, QLinearConv,
/// QLinearMatMul, ConvInteger or MatMulInteger as Identity, Conv or MatMul on quantized tensors.
/// nullopt for other models, and for parameters that a quantized type cannot express.
std::optional<Question> LiftOperator(const Question& question);

}  // namespace qtx::conformance
