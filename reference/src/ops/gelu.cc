#include <cmath>

#include "ops/registry.h"
#include "ops/unary.h"

namespace qtx::reference::ops {
namespace {

// x erfc(x / sqrt 2) / 2.
Interval Tail(const Interval& x) {
  const Interval two(2, x.bits());
  return x * Erfc(x / Sqrt(two)) / two;
}

// x (1 + erf(x / sqrt 2)) / 2 is -Tail(-x), which does not cancel below zero, and x - Tail(x). From
// x = 19 on the tail is less than 2^-256 x: its sign and size decide a tie, and nothing else is as
// near to one; MPFR's erfc is slow there with many bits.
Interval EncloseErf(const Interval& x) {
  const Interval zero(0, x.bits());
  if (x.IsNegative()) return zero - Tail(zero - x);
  const Rational real = x.low();
  return x - Tail(real < 19 ? x : Interval(real, 128));
}

// t = -x / sqrt 2 has a constant and a product rounded, 2 units. erfc takes on t's relative error
// |t erfc'(t) / erfc(t)| times: less than 1 for t < 0, and less than 2 t^2 + 2 = x^2 + 2 for t > 0,
// as erfc(t) > 2 e^(-t^2) / (sqrt(pi) (t + sqrt(t^2 + 2))) (Abramowitz and Stegun 7.1.13). libm's
// erfc is within 5 ulp, 10 units (glibc manual, "Known Maximum Errors"); 10 ulp are allowed, and 1
// unit for the product.
Approximation ApproximateErf(double x) {
  if (x < -40) return Within(0, 0);  // 40 erfc(40 / sqrt 2) is 2^-1155
  const double condition = x < 0 ? x * x + 2 : 1;
  return Within(x * std::erfc(-x * M_SQRT1_2) / 2, 3 * condition + 24);
}

// x (1 + tanh z) / 2 is x / (1 + e^-2z), which does not cancel below zero; z = sqrt(2 / pi) (x +
// 0.044715 x^3).
Interval EncloseTanh(const Interval& x) {
  const int bits = x.bits();
  const Interval z = Sqrt(Interval(2, bits) / Pi(bits)) *
                     (x + Interval(Rational(44715, 1000000), bits) * x * x * x);
  return x / (Interval(1, bits) + Exp(Interval(-2, bits) * z));
}

// Both terms of z have one sign: w = 2z is off by at most 9 units (two constants, the sum, five
// products). e^-w takes on |w| times that, as far as it counts in the sum: w e^-w < 1 for w > 0.
// libm's exp is within 1 ulp, 2 units (glibc manual, "Known Maximum Errors"); 4 ulp are allowed.
Approximation ApproximateTanh(double x) {
  if (x < -40) return Within(0, 0);                              // w < -4600
  constexpr double kFactor = 1.5957691216057307117597842397375;  // 2 sqrt(2 / pi)
  const double w = kFactor * (x * (1 + 0.044715 * (x * x)));
  return Within(x / (1 + std::exp(-w)), 10 * (x < 0 ? -w : 1) + 24);
}

// Source: gelu.S1 to gelu.S4.
Result<format::Tensor> Gelu(const Call& call) {
  if (call.String("approximate") == "tanh") {
    return RunUnary(call, {.enclose = EncloseTanh, .approximate = ApproximateTanh});
  }
  return RunUnary(call, {.enclose = EncloseErf, .approximate = ApproximateErf});
}

}  // namespace

const Operator kGelu = {.op_type = "Gelu", .run = Gelu};

}  // namespace qtx::reference::ops
