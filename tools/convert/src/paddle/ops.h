// Paddle's operators, each made ONNX nodes.
#pragma once

#include <span>
#include <string_view>

#include "paddle/builder.h"

namespace qtx::convert::paddle {

struct Operator {
  std::string_view type;
  Result<void> (*convert)(Builder&, const Op&);
  /// What becomes of whole numbers with Units: refused, carried on to Out as they are, or taken in.
  enum class Whole { kRefused, kCarried, kTaken } whole = Whole::kRefused;
};

/// By family: layers with windows, elementwise and reductions, movements of data, quantizers.
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
/// Refuses input `parameter`: a value that only a run could tell, in place of an attribute.
Result<void> RefuseInput(const Builder& builder, const Op& op, std::string_view parameter);
/// Refuses an attribute that is true, or a list that is not empty.
Result<void> RefuseSet(const Op& op, std::string_view attribute);
/// One node of `onnx` from X to Out.
Result<void> Unary(Builder& builder, const Op& op, const char* onnx,
                   std::vector<format::Attribute> attributes = {});

/// In the old quantized form: the weights of a layer whose input has units, `filter` their
/// parameter, as reals; `output` is the layer's output, which the dequantizer after it says the
/// scale of. nullopt: the input has none.
Result<std::optional<std::string>> WholeWeights(Builder& builder, const Op& op,
                                                std::string_view input, std::string_view filter,
                                                std::string_view output);

}  // namespace qtx::convert::paddle
