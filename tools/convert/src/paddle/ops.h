// Conversion of Paddle's operators to ONNX nodes.
#pragma once

#include <span>
#include <string_view>

#include "paddle/builder.h"

namespace qtx::convert::paddle {

struct Operator {
  std::string_view type;
  Result<void> (*convert)(Builder&, const Op&);
  /// How inputs with Units are treated: refused, passed on to Out, or converted.
  enum class Whole { kRefused, kCarried, kTaken } whole = Whole::kRefused;
};

/// Conversions by family: layers with windows, elementwise and reductions, data movement,
/// quantizers.
std::span<const Operator> LayerOperators();
std::span<const Operator> MathOperators();
std::span<const Operator> ShapeOperators();
std::span<const Operator> QuantizeOperators();

/// Converts `op`.  Errors: kUnsupported naming operator and reason, kInvalid.
Result<void> ConvertOp(Builder& builder, const Op& op);

inline Error Unsupported(const Op& op, std::string message) {
  return {ErrorCode::kUnsupported, op.Name(), std::move(message)};
}
inline Error Invalid(const Op& op, std::string message) {
  return {ErrorCode::kInvalid, op.Name(), std::move(message)};
}
/// Refuses input `parameter`, which replaces an attribute by a computed value.
Result<void> RefuseInput(const Builder& builder, const Op& op, std::string_view parameter);
/// Refuses an attribute that is true, or a list that is not empty.
Result<void> RefuseSet(const Op& op, std::string_view attribute);
/// Emits one node of `onnx` from X to Out.
Result<void> Unary(Builder& builder, const Op& op, const char* onnx,
                   std::vector<format::Attribute> attributes = {});

/// In the old quantized form, the real weights of a layer whose input has units. `filter` is the
/// parameter of the weights, `output` the layer's output, whose dequantizer has the scale. nullopt
/// if the input has no units.
Result<std::optional<std::string>> WholeWeights(Builder& builder, const Op& op,
                                                std::string_view input, std::string_view filter,
                                                std::string_view output);

}  // namespace qtx::convert::paddle
