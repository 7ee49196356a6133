#include <cmath>

#include "ops/registry.h"
#include "ops/unary.h"

namespace qtx::reference::ops {
namespace {

// The product of alpha and gamma has 48 bits and is exact in binary64. libm's expm1 is within 1
// ulp, 2 units (glibc manual, "Known Maximum Errors"); 4 ulp are allowed, and 1 unit for a product.
// What a subnormal x loses, a product of up to 2^256 would raise above the bound. Source: selu.S1
// to selu.S3.
Result<format::Tensor> Selu(const Call& call) {
  const auto gamma = static_cast<double>(call.Float("gamma"));
  const double factor = static_cast<double>(call.Float("alpha")) * gamma;
  const RealFunction selu = {
      .rational =
          [gamma](const Rational& x) {
            return x < 0 ? std::nullopt : std::optional<Rational>(x * gamma);
          },
      .enclose = [factor](Interval x) { return Expm1(std::move(x)) * Interval(factor, 64); },
      .approximate =
          [gamma, factor](double x) {
            if (std::abs(x) < 0x1p-700) return Approximation{0, HUGE_VAL};
            return Within(x < 0 ? factor * std::expm1(x) : gamma * x, 9);
          }};
  return RunUnary(call, selu);
}

}  // namespace

const Operator kSelu = {.op_type = "Selu", .run = Selu};

}  // namespace qtx::reference::ops
