#include <cmath>

#include "ops/registry.h"
#include "ops/unary.h"

namespace qtx::reference::ops {
namespace {

// With z = alpha x, x / (1 + e^-z), or x e^z / (1 + e^z) below zero: no power is more than 1.
Interval EncloseSwish(const Interval& x, double alpha) {
  const Interval one(1, x.bits());
  const Interval z = x * Interval(alpha, 64);
  if (!z.IsNegative()) return x / (one + Exp(Interval(0, x.bits()) - z));
  const Interval e = Exp(z);
  return x * e / (one + e);
}

// z is off by 1 unit, e^-z by |z| units more: for z > 0 times e^-z, less than 1 in all. libm's exp
// is within 1 ulp, 2 units (glibc manual, "Known Maximum Errors"); 4 ulp, 8 units, are allowed, and
// 1 unit each for the sum and the quotient. Where e^-z would overflow the interval decides.
Approximation ApproximateSwish(double x, double alpha) {
  const double z = x * alpha;
  if (std::isinf(x)) return {z < 0 ? 0 : x, 0};
  if (z < -700) return {0, HUGE_VAL};
  return Within(x / (1 + std::exp(-z)), 14 + (z < 0 ? -z : 0));
}

// Source: swish.S1 to swish.S3.
Result<format::Tensor> Swish(const Call& call) {
  const auto alpha = static_cast<double>(call.Float("alpha"));
  return RunUnary(call, {.enclose = [alpha](const Interval& x) { return EncloseSwish(x, alpha); },
                         .approximate = [alpha](double x) { return ApproximateSwish(x, alpha); }});
}

}  // namespace

const Operator kSwish = {.op_type = "Swish", .run = Swish};

}  // namespace qtx::reference::ops
