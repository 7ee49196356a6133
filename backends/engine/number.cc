#include "engine/number.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace qtx::backend::engine {
namespace {

// Larger powers are not computed: no format reaches 2^2000, and they would fill memory.
constexpr double kLargestPower = 1 << 22;  // bits

std::size_t Bits(const mpz_class& integer) { return mpz_sizeinbase(integer.get_mpz_t(), 2); }

/// floor(|value| / 2^low) and whether something is left, with low so that it has 53 bits, or fewer
/// where the last one would be below 2^-1074.
struct Cut {
  mpz_class whole, rest, divisor;
  long low = 0;
};
Cut CutOf(const mpq_class& value) {
  mpz_class n = abs(value.get_num());
  mpz_class d = value.get_den();
  long top = static_cast<long>(Bits(n)) - static_cast<long>(Bits(d));  // log2 within one
  const mpz_class left = top < 0 ? mpz_class(n << static_cast<unsigned long>(-top)) : n;
  const mpz_class right = top > 0 ? mpz_class(d << static_cast<unsigned long>(top)) : d;
  if (left < right) --top;
  Cut cut;
  cut.low = std::max(top - 52, -1074L);
  if (cut.low < 0) n <<= static_cast<unsigned long>(-cut.low);
  if (cut.low > 0) d <<= static_cast<unsigned long>(cut.low);
  mpz_tdiv_qr(cut.whole.get_mpz_t(), cut.rest.get_mpz_t(), n.get_mpz_t(), d.get_mpz_t());
  cut.divisor = std::move(d);
  return cut;
}

double Assembled(const mpq_class& value, const Cut& cut) {
  const double magnitude = std::ldexp(cut.whole.get_d(), static_cast<int>(cut.low));
  return sgn(value) < 0 ? -magnitude : magnitude;
}

bool BeyondDoubles(const mpq_class& value) {
  return Bits(value.get_num()) > Bits(value.get_den()) + 1100;
}

// x^n for a nonnegative integer base: the n-th root of it when it has one.
bool IntegerRoot(const mpz_class& x, unsigned long n, mpz_class& root) {
  return mpz_root(root.get_mpz_t(), x.get_mpz_t(), n) != 0;
}

}  // namespace

Number Number::OfDouble(double value) {
  if (std::isnan(value)) return Nan();
  if (std::isinf(value)) return Infinity(value < 0 ? -1 : 1);
  return mpq_class(value);
}

int Number::Sign() const {
  if (kind_ == Kind::kFinite) return sgn(value_);
  return kind_ == Kind::kNan ? 0 : kind_ == Kind::kMinus ? -1 : 1;
}

Number operator-(const Number& a) {
  if (a.finite()) return mpq_class(-a.value_);
  return a.nan() ? a : Number::Infinity(-a.Sign());
}

Number operator+(const Number& a, const Number& b) {
  if (a.finite() && b.finite()) return mpq_class(a.value_ + b.value_);
  if (a.nan() || b.finite()) return a;
  if (b.nan() || a.finite()) return b;
  return a.kind_ == b.kind_ ? a : Number::Nan();
}

Number operator*(const Number& a, const Number& b) {
  if (a.finite() && b.finite()) return mpq_class(a.value_ * b.value_);
  const int sign = a.Sign() * b.Sign();
  return sign == 0 ? Number::Nan() : Number::Infinity(sign);
}

Number operator/(const Number& a, const Number& b) {
  if (a.nan() || b.nan() || (!a.finite() && !b.finite())) return Number::Nan();
  if (!b.finite()) return Number();
  const int sign = b.Sign();
  if (sign == 0) return a.Sign() == 0 ? Number::Nan() : Number::Infinity(a.Sign());
  if (!a.finite()) return Number::Infinity(a.Sign() * sign);
  return mpq_class(a.value_ / b.value_);
}

bool operator<(const Number& a, const Number& b) {
  if (a.nan() || b.nan()) return false;
  if (a.finite() && b.finite()) return a.value_ < b.value_;
  const auto place = [](const Number& n) { return n.finite() ? 0 : n.Sign(); };
  return place(a) < place(b);
}

bool operator==(const Number& a, const Number& b) {
  return !a.nan() && a.kind_ == b.kind_ && a.value_ == b.value_;
}

Number Greater(const Number& a, const Number& b) {
  if (a.nan() || b.nan()) return Number::Nan();
  return a < b ? b : a;
}
Number Lesser(const Number& a, const Number& b) {
  if (a.nan() || b.nan()) return Number::Nan();
  return b < a ? b : a;
}
Number Magnitude(const Number& a) { return a.Sign() < 0 ? -a : a; }

mpq_class PowerOfTwo(long exponent) {
  mpq_class one(1);
  if (exponent < 0) return one >> static_cast<unsigned long>(-exponent);
  return one << static_cast<unsigned long>(exponent);
}

std::optional<mpq_class> IntegerPower(const mpq_class& x, long exponent) {
  const auto count = static_cast<unsigned long>(exponent);
  const unsigned long n = exponent < 0 ? 0 - count : count;  // the least long has no negative
  const std::size_t bits = std::max(Bits(x.get_num()), Bits(x.get_den()));
  const bool unit = abs(x) == 1 || x == 0;
  if (!unit && static_cast<double>(bits) * static_cast<double>(n) > kLargestPower) return {};
  const unsigned long reduced = unit ? n % 2 + (n == 0 ? 0 : 2) : n;  // the same for -1, 0 and 1
  mpq_class power;
  mpz_pow_ui(power.get_num_mpz_t(), x.get_num_mpz_t(), reduced);
  mpz_pow_ui(power.get_den_mpz_t(), x.get_den_mpz_t(), reduced);
  if (exponent >= 0) return power;
  return mpq_class(1 / power);
}

std::optional<mpq_class> RationalRoot(const mpq_class& x, unsigned long n) {
  mpz_class numerator;
  mpz_class denominator;
  if (!IntegerRoot(x.get_num(), n, numerator) || !IntegerRoot(x.get_den(), n, denominator)) {
    return {};
  }
  return mpq_class(numerator, denominator);
}

double RoundToOdd(const mpq_class& value) {
  if (sgn(value) == 0) return 0;
  if (BeyondDoubles(value))
    return sgn(value) < 0 ? -std::numeric_limits<double>::max()
                          : std::numeric_limits<double>::max();
  Cut cut = CutOf(value);
  if (cut.rest != 0) mpz_setbit(cut.whole.get_mpz_t(), 0);
  return std::clamp(Assembled(value, cut), -std::numeric_limits<double>::max(),
                    std::numeric_limits<double>::max());
}

double RoundToDouble(const mpq_class& value) {
  if (sgn(value) == 0) return 0;
  const double infinity = std::numeric_limits<double>::infinity();
  if (BeyondDoubles(value)) return sgn(value) < 0 ? -infinity : infinity;
  Cut cut = CutOf(value);
  const int half = cmp(mpz_class(cut.rest * 2), cut.divisor);
  if (half > 0 || (half == 0 && mpz_odd_p(cut.whole.get_mpz_t()) != 0)) ++cut.whole;
  return Assembled(value, cut);
}

}  // namespace qtx::backend::engine
