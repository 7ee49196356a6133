#include <algorithm>

#include "ops/registry.h"
#include "ops/unary.h"

namespace qtx::reference::ops {
namespace {

Rational Exactly(const Rational& x) {
  return x <= -3 ? Rational(0) : x >= 3 ? x : Rational(x * (x + 3) / 6);
}

// x is exact, so x + 3, the product and the quotient round once each: 3 units.
Approximation ApproximateHardSwish(double x) {
  return Within(x <= -3 ? 0 : x >= 3 ? x : x * (x + 3) / 6, 4);
}

float Binary32(float x) { return x * std::clamp(x * (1.0F / 6.0F) + 0.5F, 0.0F, 1.0F); }

// Source: hard_swish.S1 to hard_swish.S4.
Result<format::Tensor> HardSwish(const Call& call) {
  return RunUnary(call,
                  {.rational = Exactly, .approximate = ApproximateHardSwish, .binary32 = Binary32});
}

}  // namespace

const Operator kHardSwish = {.op_type = "HardSwish", .run = HardSwish};

}  // namespace qtx::reference::ops
