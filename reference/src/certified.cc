#include "certified.h"

#include <mpfr.h>

#include <algorithm>
#include <cmath>

#include "qtx/format/mpfr_cache.h"

namespace qtx::reference {
namespace {

constexpr double kUnit = 0x1p-53;  // rounding unit of binary64

Rational DoubleToRational(double value) { return ToRational(ToDyadic(value)); }

}  // namespace

Rational ExactQuotient(std::span<const Term> terms, std::int64_t divisor, float scale) {
  Rational sum = 0;
  for (const Term& term : terms) {
    sum += Rational(static_cast<long>(term.integer)) * DoubleToRational(term.scale);
  }
  return sum /
         (Rational(static_cast<long>(divisor)) * DoubleToRational(static_cast<double>(scale)));
}

Shares::Shares(std::span<const Dyadic> row, const Dyadic& max) {
  const auto nearest = [](const Dyadic& x) {
    return std::ldexp(static_cast<double>(x.mantissa), x.exponent);
  };
  highest_ = nearest(max);
  differences_.reserve(row.size());
  exponentials_.reserve(row.size());
  for (const Dyadic& x : row) {
    const bool finite = x.kind == Dyadic::Kind::kFinite;
    const double value = finite ? nearest(x) : 0;
    reach_ = std::max(reach_, std::abs(value));
    differences_.push_back(value - highest_);
    exponentials_.push_back(finite ? std::exp(differences_.back()) : 0);
    sum_ += exponentials_.back();
  }
}

std::optional<Approximation> Shares::At(std::size_t i) const {
  if (reach_ > 0x1p30) return std::nullopt;
  const double value = exponentials_[i] / sum_;
  return Approximation{value, value * Roundings() * (2 * kUnit) + 0x1p-1000};
}

std::optional<Approximation> Shares::LogAt(std::size_t i) const {
  if (reach_ > 0x1p30) return std::nullopt;
  const double logarithm = std::log(sum_);
  const double value = differences_[i] - logarithm;
  const double own = 2 * (logarithm + std::abs(value));
  return Approximation{value, (Roundings() + own) * (2 * kUnit)};
}

std::optional<Approximation> Shares::LogOfSum() const {
  if (reach_ > 0x1p30) return std::nullopt;
  const double logarithm = std::log(sum_);
  const double value = highest_ + logarithm;
  const double own = 2 * (logarithm + std::abs(value));
  return Approximation{value, (Roundings() + own) * (2 * kUnit)};
}

std::optional<float> CertainlyFloat(const Approximation& x) {
  // The two sums below each round by u of themselves, reach by 2u: what is added here covers both.
  const double reach = (x.bound + std::abs(x.value) * (2 * kUnit)) * (1 + 8 * kUnit);
  const auto low = static_cast<float>(x.value - reach);
  const auto high = static_cast<float>(x.value + reach);
  // An exact zero is +0, and what underflows keeps its sign: an interval with both decides neither.
  if (low != high || std::signbit(low) != std::signbit(high)) return std::nullopt;
  return low;
}

float Exp32(float x) {
  if (std::isnan(x)) return x;
  // libm's binary64 exp is within 1 ulp (glibc manual, "Known Maximum Errors"); 2^-50 is 4 ulp or
  // more.
  const double value = std::exp(static_cast<double>(x));
  if (std::isinf(value) || value == 0) return static_cast<float>(value);
  if (const auto certain = CertainlyFloat({value, value * 0x1p-50})) return *certain;
  // Of the 2^32 arguments none brings e^x within 2^-53 of a tie, relatively (all from 2^-30 on were
  // tried; the closest is -0x1.d2259ap+3): 200 bits decide every one.
  format::OwnMpfrCache();
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
