#include "rational.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace qtx::reference {
namespace {

using U128 = unsigned __int128;

U128 Magnitude(std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  return value < 0 ? std::uint64_t{0} - bits : bits;
}

double SpecialValue(const Dyadic& value) {
  if (value.kind == Dyadic::Kind::kNan) return std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  return value.mantissa < 0 ? -infinity : infinity;
}

int Sign(std::int64_t value) { return (value > 0) - (value < 0); }

// An ordering key when not both are finite: -1 below all finite values, +1 above.
int InfinitySide(const Dyadic& value) {
  return value.kind == Dyadic::Kind::kInfinite ? Sign(value.mantissa) : 0;
}

}  // namespace

Dyadic ToDyadic(double value) {
  if (std::isnan(value)) return {0, 0, Dyadic::Kind::kNan};
  if (std::isinf(value)) return {value < 0 ? -1 : 1, 0, Dyadic::Kind::kInfinite};
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const std::uint64_t field = bits >> 52 & 0x7ff;
  std::uint64_t mantissa = bits & ((std::uint64_t{1} << 52) - 1);
  if (field != 0) mantissa |= std::uint64_t{1} << 52;
  if (mantissa == 0) return {};
  const int zeros = std::countr_zero(mantissa);
  const auto magnitude = static_cast<std::int64_t>(mantissa >> zeros);
  // A subnormal has the exponent of the smallest normal number, field 1.
  const int exponent = std::max(static_cast<int>(field), 1) - 1075 + zeros;
  return {std::signbit(value) ? -magnitude : magnitude, exponent, Dyadic::Kind::kFinite};
}

Dyadic Scaled(float scale, std::int64_t integer) {
  Dyadic result = ToDyadic(static_cast<double>(scale));  // at most 24 bits
  result.mantissa *= integer;
  return result;
}

int Compare(const Dyadic& a, const Dyadic& b) {
  const int side = InfinitySide(a) - InfinitySide(b);
  if (side != 0) return Sign(side);
  if (InfinitySide(a) != 0) return 0;
  if (Sign(a.mantissa) != Sign(b.mantissa)) return Sign(a.mantissa) < Sign(b.mantissa) ? -1 : 1;
  if (a.exponent == b.exponent) return (a.mantissa > b.mantissa) - (a.mantissa < b.mantissa);
  // Rounding to binary64 keeps the order of what it does not make equal.
  const double near_a = NearDouble(a);
  const double near_b = NearDouble(b);
  if (near_a != near_b) return near_a < near_b ? -1 : 1;
  return cmp(ToRational(a), ToRational(b)) < 0 ? -1 : cmp(ToRational(a), ToRational(b)) > 0;
}

Rational ToRational(const Dyadic& finite) {
  Rational result(static_cast<long>(finite.mantissa));
  const auto shift = static_cast<mp_bitcnt_t>(std::abs(finite.exponent));
  if (finite.exponent >= 0) {
    mpq_mul_2exp(result.get_mpq_t(), result.get_mpq_t(), shift);
  } else {
    mpq_div_2exp(result.get_mpq_t(), result.get_mpq_t(), shift);
  }
  return result;
}

Rational ToRational(__int128 value) {
  mpz_class integer = static_cast<long>(value >> 64);
  integer <<= 64;
  integer += static_cast<unsigned long>(value);
  return Rational(integer);
}

Real ToReal(const Dyadic& value) {
  if (value.kind != Dyadic::Kind::kFinite) return {false, SpecialValue(value), {}};
  return {true, 0, ToRational(value)};
}

double NearDouble(const Dyadic& value) {
  return std::ldexp(static_cast<double>(value.mantissa), value.exponent);
}

std::optional<double> ExactDouble(const Dyadic& value) {
  constexpr std::int64_t kLargest = std::int64_t{1} << 53;
  if (std::abs(value.mantissa) > kLargest) return std::nullopt;
  return NearDouble(value);  // within its range
}

Real Divide(const Dyadic& a, const Dyadic& b) {
  const bool finite = a.kind == Dyadic::Kind::kFinite && b.kind == Dyadic::Kind::kFinite;
  if (finite && b.mantissa != 0) return {true, 0, ToRational(a) / ToRational(b)};
  // Only signs, zeros and infinities matter to what is left.
  const auto like = [](const Dyadic& d) {
    return d.kind == Dyadic::Kind::kFinite ? Sign(d.mantissa) : SpecialValue(d);
  };
  const double special = like(a) / like(b);
  return special == 0 ? Real{} : Real{false, special, {}};
}

void ExactSum::AddSpecial(double value) {
  special_ = finite_ ? value : special_ + value;  // inf + -inf is NaN, as in IEEE 754
  finite_ = false;
}

void ExactSum::Add(const Dyadic& term) {
  if (term.kind != Dyadic::Kind::kFinite) return AddSpecial(SpecialValue(term));
  AddFinite(Magnitude(term.mantissa), term.mantissa < 0, term.exponent);
}

void ExactSum::AddProduct(const Dyadic& a, const Dyadic& b) {
  if (a.kind != Dyadic::Kind::kFinite || b.kind != Dyadic::Kind::kFinite) {
    const auto factor = [](const Dyadic& d) {
      return d.kind == Dyadic::Kind::kFinite ? Sign(d.mantissa) : SpecialValue(d);
    };
    return AddSpecial(factor(a) * factor(b));  // infinity times zero is NaN
  }
  AddFinite(Magnitude(a.mantissa) * Magnitude(b.mantissa), (a.mantissa < 0) != (b.mantissa < 0),
            a.exponent + b.exponent);
}

void ExactSum::AddInteger(__int128 integer, int exponent) {
  AddFinite(static_cast<U128>(integer < 0 ? -integer : integer), integer < 0, exponent);
}

void ExactSum::AddFinite(U128 magnitude, bool negative, int exponent) {
  if (magnitude == 0) return;
  const int position = exponent - kLowest;
  if (position < 0 || position / 32 + 6 > kCells) return AddBeyond(magnitude, negative, exponent);
  auto cell = static_cast<std::size_t>(position / 32);
  const int shift = position % 32;
  // 32 bits at a time, so that a shifted chunk fits 63 bits; it spills into the next cell.
  for (; magnitude != 0; magnitude >>= 32, ++cell) {
    const std::uint64_t chunk = static_cast<std::uint64_t>(magnitude & 0xffffffffU) << shift;
    const auto low = static_cast<std::int64_t>(chunk & 0xffffffffU);
    const auto high = static_cast<std::int64_t>(chunk >> 32);
    cells_[cell] += negative ? -low : low;
    cells_[cell + 1] += negative ? -high : high;
  }
  if (++pending_ == (1U << 28)) Normalize();  // a cell gains less than 2^34 per addition
}

void ExactSum::AddBeyond(U128 magnitude, bool negative, int exponent) {
  // At most 2^126: a product of two mantissas.
  const auto value = static_cast<__int128>(magnitude);
  const Rational term = ToRational(negative ? -value : value) *
                        ToRational(Dyadic{1, exponent, Dyadic::Kind::kFinite});
  beyond_ = beyond_ ? *beyond_ + term : term;
}

void ExactSum::Normalize() {
  for (std::size_t i = 0; i + 1 < kCells; ++i) {
    const std::int64_t carry = cells_[i] >> 32;
    cells_[i] -= carry * (std::int64_t{1} << 32);
    cells_[i + 1] += carry;
  }
  pending_ = 0;
}

Real ExactSum::Value() const {
  if (!finite_) return {false, special_, {}};
  // Mostly few cells are in use.
  std::size_t first = 0;
  std::size_t last = kCells;
  while (first < last && cells_[first] == 0) ++first;
  while (last > first && cells_[last - 1] == 0) --last;
  mpz_class sum = 0;
  for (std::size_t i = last; i-- > first;) {
    sum <<= 32;
    sum += static_cast<long>(cells_[i]);
  }
  Rational value(sum);
  const int exponent = kLowest + 32 * static_cast<int>(first);
  const auto shift = static_cast<mp_bitcnt_t>(std::abs(exponent));
  exponent < 0 ? mpq_div_2exp(value.get_mpq_t(), value.get_mpq_t(), shift)
               : mpq_mul_2exp(value.get_mpq_t(), value.get_mpq_t(), shift);
  if (beyond_) value += *beyond_;
  return {true, 0, value};
}

mpz_class Round(const Rational& value, TieRule tie) {
  mpz_class quotient;
  mpz_class remainder;
  mpz_fdiv_qr(quotient.get_mpz_t(), remainder.get_mpz_t(), value.get_num_mpz_t(),
              value.get_den_mpz_t());
  const bool negative = sgn(value) < 0;
  if (tie == TieRule::kTowardZero) {
    if (negative && remainder != 0) quotient += 1;
    return quotient;
  }
  if (tie == TieRule::kDown) return quotient;
  remainder *= 2;
  const int side = cmp(remainder, value.get_den());  // where the floor's remainder lies about 1/2
  bool up = side > 0;
  if (side == 0 && tie != TieRule::kHalfDown) {
    const bool odd = mpz_odd_p(quotient.get_mpz_t()) != 0;
    up = tie == TieRule::kHalfUp || (tie == TieRule::kHalfEven ? odd : !negative);
  }
  if (up) quotient += 1;
  return quotient;
}

double OddDouble(const Rational& value) {
  const double truncated = value.get_d();  // GMP rounds toward zero
  if (!std::isfinite(truncated)) return truncated;
  if (Rational(truncated) == value) return truncated;
  const auto bits = std::bit_cast<std::uint64_t>(truncated);
  if (truncated == 0) return std::copysign(std::numeric_limits<double>::denorm_min(), sgn(value));
  return std::bit_cast<double>(bits | 1U);
}

double NearestDouble(const Rational& value) {
  constexpr int kLowest = -1076;  // two bits below binary64's last
  const auto bits = [](const mpz_class& z) {
    return static_cast<int>(mpz_sizeinbase(z.get_mpz_t(), 2));
  };
  // At least 55 bits, the last one sticky, so that the conversion rounds once; near zero fewer.
  const int exponent = std::max(bits(value.get_num()) - bits(value.get_den()) - 55, kLowest);
  const Rational scaled = value * ToRational({1, -exponent, Dyadic::Kind::kFinite});
  mpz_class odd = Round(scaled, TieRule::kTowardZero);
  if (odd != scaled && mpz_even_p(odd.get_mpz_t()) != 0) odd += sgn(value);
  const long stored = odd.get_si();
  if (exponent > kLowest || std::abs(stored) >= (std::int64_t{1} << 54)) {
    return std::ldexp(static_cast<double>(stored), exponent);
  }
  const mpz_class subnormal = Round(Rational(odd) / 4, TieRule::kHalfEven);
  return std::ldexp(static_cast<double>(subnormal.get_si()), kLowest + 2);
}

float NearestFloat(const Rational& value) {
  // GMP's conversion is undefined outside binary64, and 2^200 is past binary32 already.
  const auto bits = [](const mpz_class& z) { return mpz_sizeinbase(z.get_mpz_t(), 2); };
  if (bits(value.get_num()) > bits(value.get_den()) + 201) {
    return std::copysign(std::numeric_limits<float>::infinity(), static_cast<float>(sgn(value)));
  }
  return static_cast<float>(OddDouble(value));
}

}  // namespace qtx::reference
