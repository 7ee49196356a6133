#include "ops/registry.h"
#include "ops/unary.h"

namespace qtx::reference::ops {
namespace {

// x, or alpha * x below zero: at most one product, 1 unit.  Source: leaky_relu.S1 to leaky_relu.S3.
Result<format::Tensor> LeakyRelu(const Call& call) {
  const auto alpha = static_cast<double>(call.Float("alpha"));
  const RealFunction leak = {
      .rational = [alpha](const Rational& x) { return x < 0 ? Rational(x * alpha) : x; },
      .approximate = [alpha](double x) { return Within(x < 0 ? x * alpha : x, 1); }};
  return RunUnary(call, leak);
}

}  // namespace

const Operator kLeakyRelu = {.op_type = "LeakyRelu", .run = LeakyRelu};

}  // namespace qtx::reference::ops
