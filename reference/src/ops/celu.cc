#include <cmath>

#include "ops/registry.h"
#include "ops/unary.h"

namespace qtx::reference::ops {
namespace {

// The quotient is rounded once, and expm1 takes on less than its relative error, as it is below
// zero. libm's expm1 is within 1 ulp, 2 units (glibc manual, "Known Maximum Errors"); 4 ulp are
// allowed, and 1 unit for the product. What a subnormal quotient loses, alpha could raise above the
// bound.
Approximation ApproximateCelu(double x, double alpha) {
  if (!(x < 0)) return Within(x, 1);
  const double quotient = x / alpha;
  if (quotient > -0x1p-700) return {0, HUGE_VAL};
  return Within(alpha * std::expm1(quotient), 12);
}

// Source: celu.S1 to celu.S3.
Result<format::Tensor> Celu(const Call& call) {
  const auto alpha = static_cast<double>(call.Float("alpha"));
  const RealFunction celu = {
      .rational =
          [](const Rational& x) { return x < 0 ? std::nullopt : std::optional<Rational>(x); },
      .enclose =
          [alpha](const Interval& x) {
            return Expm1(x / Interval(alpha, 64)) * Interval(alpha, 64);
          },
      .approximate = [alpha](double x) { return ApproximateCelu(x, alpha); }};
  return RunUnary(call, celu);
}

}  // namespace

const Operator kCelu = {.op_type = "Celu", .run = Celu};

}  // namespace qtx::reference::ops
