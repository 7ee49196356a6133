#include <algorithm>
#include <cmath>

#include "ops/registry.h"
#include "ops/unary.h"

namespace qtx::reference::ops {
namespace {

// Source: hard_sigmoid.S1 to hard_sigmoid.S3.
Result<format::Tensor> HardSigmoid(const Call& call) {
  const float alpha = call.Float("alpha");
  const float beta = call.Float("beta");
  const auto a = static_cast<double>(alpha);
  const auto b = static_cast<double>(beta);
  const RealFunction hard = {
      .rational =
          [a, b](const Rational& x) {
            const Rational line = x * a + b;
            return line < 0 ? Rational(0) : line > 1 ? Rational(1) : line;
          },
      // The product and the sum round once each: 2 units of the product and 1 of the sum, which may
      // cancel. The bounds bring nothing farther from what they bring it to.
      .approximate =
          [a, b](double x) {
            const double line = x * a + b;
            const double bound = Within(std::abs(x * a) + std::abs(line), 2).bound;
            if (line < -bound) return Approximation{0, 0};
            if (line - 1 > bound) return Approximation{1, 0};
            return Approximation{std::clamp(line, 0.0, 1.0), bound};
          },
      .binary32 = [alpha, beta](float x) { return std::clamp(alpha * x + beta, 0.0F, 1.0F); }};
  return RunUnary(call, hard);
}

}  // namespace

const Operator kHardSigmoid = {.op_type = "HardSigmoid", .run = HardSigmoid};

}  // namespace qtx::reference::ops
