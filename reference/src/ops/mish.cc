#include <cmath>

#include "ops/registry.h"
#include "ops/unary.h"

namespace qtx::reference::ops {
namespace {

// With e = e^-|x|, tanh(log(1 + e^x)) is (1 + 2e) / (1 + 2e + 2e^2) from zero on, and (e^2 + 2e) /
// (e^2 + 2e + 2) below: no difference cancels and nothing overflows.
Interval EncloseMish(const Interval& x) {
  const Interval one(1, x.bits());
  const Interval two(2, x.bits());
  const Interval e = Exp(x.IsNegative() ? x : Interval(0, x.bits()) - x);
  const Interval above = x.IsNegative() ? e * (e + two) : one + two * e;
  return x * above / (above + (x.IsNegative() ? two : two * e * e));
}

// libm's exp is within 1 ulp, 2 units (glibc manual, "Known Maximum Errors"); 4 ulp, 8 units, are
// allowed. All terms are positive: at most 10 units of e (e + 2) and of 1 + 2e, 17 of 2 e^2, 18 of
// the denominator, and two more operations; 40 units hold them all.
Approximation ApproximateMish(double x) {
  if (x < -800) return Within(0, 0);  // -800 e^-800 is -2^-1144
  const double e = std::exp(-std::abs(x));
  const double above = x < 0 ? e * (e + 2) : 1 + 2 * e;
  return Within(x * (above / (above + (x < 0 ? 2 : 2 * e * e))), 40);
}

// Source: mish.S1 to mish.S3.
Result<format::Tensor> Mish(const Call& call) {
  return RunUnary(call, {.enclose = EncloseMish, .approximate = ApproximateMish});
}

}  // namespace

const Operator kMish = {.op_type = "Mish", .run = Mish};

}  // namespace qtx::reference::ops
