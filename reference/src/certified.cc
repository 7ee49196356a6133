#include "certified.h"

#include <mpfr.h>

#include <cmath>

namespace qtx::reference {
namespace {

constexpr double kUnit = 0x1p-53;  // rounding unit of binary64

// Adding and subtracting 1.5 * 2^52 leaves the nearest integer, ties to even, for |x| < 2^51.
double NearestInteger(double x) { return (x + 0x1.8p52) - 0x1.8p52; }

Rational DoubleToRational(double value) { return ToRational(ToDyadic(value)); }

}  // namespace

Approximation Quotient(std::span<const Term> terms, std::int64_t divisor, float scale) {
  double sum = 0;
  double magnitude = 0;
  for (const Term& term : terms) {
    const double product = static_cast<double>(term.integer) * term.scale;
    sum += product;
    magnitude += std::abs(product);
  }
  const double denominator = static_cast<double>(divisor) * static_cast<double>(scale);
  // 8u instead of 7u covers the roundings of the bound itself.
  return {sum / denominator, magnitude / denominator * (8 * kUnit)};
}

Rational ExactQuotient(std::span<const Term> terms, std::int64_t divisor, float scale) {
  Rational sum = 0;
  for (const Term& term : terms) {
    sum += Rational(static_cast<long>(term.integer)) * DoubleToRational(term.scale);
  }
  return sum /
         (Rational(static_cast<long>(divisor)) * DoubleToRational(static_cast<double>(scale)));
}

std::optional<std::int64_t> CertainlyRounded(const Approximation& x, std::int64_t min,
                                             std::int64_t max) {
  // A whole unit outside the range nothing but the clamp matters. This also catches values past
  // 2^51.
  if (x.value - x.bound > static_cast<double>(max) + 1) return max;
  if (x.value + x.bound < static_cast<double>(min) - 1) return min;
  const double nearest = NearestInteger(x.value);
  // |value| < 2^41 here, so value - nearest is exact; the tie lies 1/2 away from nearest.
  if (!(0.5 - std::abs(x.value - nearest) > x.bound)) return std::nullopt;
  const auto rounded = static_cast<std::int64_t>(nearest);
  return rounded < min ? min : rounded > max ? max : rounded;
}

std::optional<float> CertainlyFloat(const Approximation& x) {
  const double reach = x.bound + std::abs(x.value) * (2 * kUnit);  // and the sums' own roundings
  const auto low = static_cast<float>(x.value - reach);
  const auto high = static_cast<float>(x.value + reach);
  if (low != high) return std::nullopt;
  return low;
}

float Exp32(float x) {
  if (std::isnan(x)) return x;
  // libm's binary64 exp is within 1 ulp (glibc manual, "Known Maximum Errors"); 2^-50 is 4 ulp or
  // more.
  const double value = std::exp(static_cast<double>(x));
  if (std::isinf(value) || value == 0) return static_cast<float>(value);
  if (const auto certain = CertainlyFloat({value, value * 0x1p-50})) return *certain;
  // Of the 2^32 arguments none brings e^x within 2^-60 of a tie, relatively, except next to x = 0,
  // where e^x = 1 + x needs 149 bits: 200 bits decide every one.
  mpfr_t power;
  mpfr_init2(power, 200);
  mpfr_set_flt(power, x, MPFR_RNDN);
  mpfr_exp(power, power, MPFR_RNDN);
  Rational exact;
  mpfr_get_q(exact.get_mpq_t(), power);
  mpfr_clear(power);
  return NearestFloat(exact);
}

}  // namespace qtx::reference
