#include <cmath>

#include "ops/linear.h"
#include "ops/registry.h"
#include "ops/unary.h"

namespace qtx::reference::ops {
namespace {

constexpr float kDefaultAlpha = 0.01F;

Result<void> CheckAlpha(const format::Node& node) {
  if (std::isfinite(node.FloatOr("alpha", kDefaultAlpha))) return {};
  return Error{ErrorCode::kInvalid, "attribute 'alpha'", "is not a finite number"};
}

// x, or alpha * x below zero: always rational.
Result<format::Tensor> LeakyRelu(const Call& call) {
  const auto alpha = static_cast<double>(call.node.FloatOr("alpha", kDefaultAlpha));
  const auto rational = [alpha](const Rational& x) -> std::optional<Rational> {
    return x < 0 ? Rational(alpha) * x : x;
  };
  // One rounding of the product, where x is a double: quantized reals and floats are.
  const auto approximate = [alpha](double x) { return Within(x < 0 ? alpha * x : x, 1); };
  return RunUnary(call, {.rational = rational, .enclose = {}, .approximate = approximate});
}

// Source: q_linear_leaky_relu.S1.
Result<format::Tensor> QLinearLeakyRelu(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const ExtendedCall typed, UnaryCall(call));
  return typed.Run(LeakyRelu);
}

constexpr AttributeRule kQLinearLeakyReluAttributes[] = {{"alpha", format::AttributeType::kFloat}};

}  // namespace

const Operator kQLinearLeakyRelu = {.op_type = "QLinearLeakyRelu",
                                    .domain = kMicrosoft,
                                    .min_inputs = 4,
                                    .max_inputs = 5,
                                    .optional_inputs = kUnaryZeroPoints,
                                    .attributes = kQLinearLeakyReluAttributes,
                                    .check = CheckAlpha,
                                    .run = QLinearLeakyRelu};

}  // namespace qtx::reference::ops
