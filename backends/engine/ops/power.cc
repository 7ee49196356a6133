// x to the power y over the reals.  Source: spec/ops/pow.md; IEEE 754-2019 9.2, pow.
#include <utility>

#include "engine/ops/function.h"

namespace qtx::backend::engine {
namespace {

bool IsInteger(const mpq_class& x) { return x.get_den() == 1; }
bool IsOdd(const mpq_class& y) { return IsInteger(y) && mpz_odd_p(y.get_num_mpz_t()) != 0; }

// |y| infinite: 1, or 0 or infinity by which side of 1 |x| lies on.
Number InfinitePower(const Number& x, int sign) {
  const Number magnitude = Magnitude(x);
  if (magnitude == Number::Of(1)) return Number::Of(1);
  const bool grows = (Number::Of(1) < magnitude) == (sign > 0);
  return grows ? Number::Infinity(1) : Number();
}

// x is infinite, y finite and not 0.
Number PowerOfInfinity(const Number& x, const mpq_class& y) {
  if (sgn(y) < 0) return Number();
  return Number::Infinity(x.Sign() < 0 && IsOdd(y) ? -1 : 1);
}

Interval EnclosedPower(const mpq_class& x, const mpq_class& y, mpfr_prec_t bits) {
  return Exp(Interval(y, bits) * Log(Interval(x, bits)));
}

// x finite and not 0, y an integer. A power of millions of bits is no tie of any format.
Real ToInteger(const mpq_class& x, const mpq_class& y) {
  if (y.get_num().fits_slong_p()) {
    if (const auto power = IntegerPower(x, y.get_num().get_si())) return Number(*power);
  }
  const bool negative = sgn(x) < 0 && IsOdd(y);
  if (abs(x) == 1) return Number::Of(negative ? -1 : 1);
  return Real::Enclosed([base = mpq_class(abs(x)), y, negative](mpfr_prec_t bits) {
    const Interval power = EnclosedPower(base, y, bits);
    return negative ? -power : power;
  });
}

// x > 0 and not 1, y no integer: rational when x is a power of y's denominator of a rational.
Real ToFraction(const mpq_class& x, const mpq_class& y) {
  if (y.get_den().fits_ulong_p() && y.get_num().fits_slong_p()) {
    const auto root = RationalRoot(x, y.get_den().get_ui());
    const auto power = root.has_value() ? IntegerPower(*root, y.get_num().get_si()) : std::nullopt;
    if (power.has_value()) return Number(*power);
  }
  return Real::Enclosed([x, y](mpfr_prec_t bits) { return EnclosedPower(x, y, bits); });
}

}  // namespace

std::optional<Number> ModularPower(const Number& x, const Number& y) {
  const bool integers = x.finite() && y.finite() && IsInteger(x.value()) && IsInteger(y.value());
  if (!integers || y.Sign() < 0) return std::nullopt;
  const mpz_class modulus = mpz_class(1) << 64;
  mpz_class power;
  mpz_powm(power.get_mpz_t(), x.value().get_num_mpz_t(), y.value().get_num_mpz_t(),
           modulus.get_mpz_t());
  return Number(mpq_class(power));
}

Real PowerOf(const Number& x, const Number& y) {
  if (y.Sign() == 0 && !y.nan()) return Number::Of(1);
  if (x == Number::Of(1)) return x;
  if (x.nan() || y.nan()) return Number::Nan();
  if (!y.finite()) return InfinitePower(x, y.Sign());
  if (!x.finite()) return PowerOfInfinity(x, y.value());
  if (x.Sign() == 0) return y.Sign() < 0 ? Number::Infinity(1) : Number();
  if (IsInteger(y.value())) return ToInteger(x.value(), y.value());
  if (x.Sign() < 0) return Number::Nan();
  return ToFraction(x.value(), y.value());
}

}  // namespace qtx::backend::engine
