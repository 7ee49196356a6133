#include "number.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

#include "qtx/formula/tree.h"

namespace qtx::formula {
namespace {

bool IsInfinite(const Number& x) { return std::holds_alternative<Infinity>(x); }

// Of a number that is not NaN: whether it is surely beyond all formats, and beyond what kMaxBits
// round to an integer.
std::optional<Infinity> BeyondIntegers(const Interval& x) {
  if (mpfr_cmp_si_2exp(x.low(), 1, kMaxBits / 2) > 0) return Infinity{1};
  if (mpfr_cmp_si_2exp(x.high(), -1, kMaxBits / 2) < 0) return Infinity{-1};
  return std::nullopt;
}

// Below 2^(-2 * kMaxBits) all numbers of one sign round alike, to integers and to formats: one that
// can be written down stands for them.
std::optional<mpq_class> Finite(mpfr_srcptr bound) {
  if (mpfr_number_p(bound) == 0) return std::nullopt;
  if (mpfr_zero_p(bound) == 0 && mpfr_get_exp(bound) < -2 * kMaxBits) {
    return mpq_class(mpfr_sgn(bound) * TwoTo(-2 * kMaxBits));
  }
  mpq_class value;
  mpfr_get_q(value.get_mpq_t(), bound);
  return value;
}

// The result of `round` if it is the same for both ends; at last, where it goes to the nearest,
// that of the tie between them (exact.S6).
template <typename Rounder>
Number RoundInterval(const Interval& x, bool to_nearest, Precision& precision,
                     const Rounder& round) {
  const auto low = Finite(x.low());
  const auto high = Finite(x.high());
  if (low && high) {
    Number rounded = round(*low);
    const Number other = round(*high);
    Precision exact;
    if (Compare(rounded, other, exact) == 0) return rounded;
    const auto *below = AsRational(rounded), *above = AsRational(other);
    const bool last = to_nearest && precision.bits >= kMaxBits;
    if (last && below != nullptr && above != nullptr) {
      const mpq_class tie = (*below + *above) / 2;
      const bool narrow = (*high - *low) * TwoTo(64) <= *above - *below;
      if (narrow && *low <= tie && tie <= *high) return round(tie);
    }
  }
  precision.undecided = true;
  return Nan{};
}

Number RoundRationalTo(const FloatFormat& format, const mpq_class& x) {
  if (x == 0) return x;
  const long exponent = std::max(ExponentOf(x), static_cast<long>(format.min_exponent));
  const mpq_class unit = TwoTo(exponent - (format.digits - 1));
  const mpq_class rounded = RoundRational(x / unit, Rounding::kHalfEven) * unit;
  if (abs(rounded) >= TwoTo(format.max_exponent + 1)) return Infinity{sgn(x)};
  return rounded;
}

bool Digits(std::string_view text, bool hexadecimal) {
  return std::ranges::all_of(text, [hexadecimal](char c) {
    const bool letter = (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    return (c >= '0' && c <= '9') || (hexadecimal && letter);
  });
}

Error NotANumber(std::string_view text) {
  return Error{ErrorCode::kInvalid, "", "found '" + std::string(text) + "', expected a number"};
}

// Splits off the exponent after e or p.
Result<long> TakeExponent(std::string_view& text, std::string_view letters) {
  const std::size_t at = text.find_first_of(letters);
  if (at == std::string_view::npos) return 0;
  std::string_view digits = text.substr(at + 1);
  if (digits.starts_with('+') && !digits.starts_with("+-")) digits.remove_prefix(1);
  long exponent = 0;
  const auto [end, status] =
      std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
  if (status == std::errc::result_out_of_range || exponent > kMaxNumberExponent ||
      exponent < -kMaxNumberExponent) {
    return Error{ErrorCode::kTooLarge, "",
                 "found an exponent of " + std::string(digits) + ", expected at most " +
                     std::to_string(kMaxNumberExponent)};
  }
  if (status != std::errc() || end != digits.data() + digits.size()) return NotANumber(text);
  text = text.substr(0, at);
  return exponent;
}

}  // namespace

Interval ToInterval(const Number& x, mpfr_prec_t bits) {
  if (const auto* interval = std::get_if<Interval>(&x)) return *interval;
  Interval interval(bits);
  mpfi_set_q(interval.get(), std::get<mpq_class>(x).get_mpq_t());
  return interval;
}

int SignOf(const Number& x, Precision& precision) {
  if (const auto* rational = AsRational(x)) return sgn(*rational);
  if (const auto* infinity = std::get_if<Infinity>(&x)) return infinity->sign;
  const auto& interval = std::get<Interval>(x);
  const int low = mpfr_sgn(interval.low()), high = mpfr_sgn(interval.high());
  if (low == 0 && high == 0) return 0;
  // An end that is 0 lies beyond the number: outwards rounded, as exp(-2^127) is.
  if (low >= 0) return 1;
  if (high <= 0) return -1;
  // What kMaxBits do not tell from 0 is 0 (exact.S6).
  constexpr mpfr_exp_t kNarrow = -kMaxBits / 4;
  const bool narrow =
      mpfr_get_exp(interval.low()) < kNarrow && mpfr_get_exp(interval.high()) < kNarrow;
  if (precision.bits < kMaxBits || !narrow) precision.undecided = true;
  return 0;
}

std::optional<int> Compare(const Number& a, const Number& b, Precision& precision) {
  if (IsNan(a) || IsNan(b)) return std::nullopt;
  if (IsInfinite(a) && IsInfinite(b)) {
    const int left = std::get<Infinity>(a).sign, right = std::get<Infinity>(b).sign;
    return (left > right) - (left < right);
  }
  const auto *left = AsRational(a), *right = AsRational(b);
  if (left != nullptr && right != nullptr) {
    const int order = cmp(*left, *right);
    return (order > 0) - (order < 0);
  }
  return SignOf(Add(a, Negate(b), precision), precision);
}

Number Add(const Number& a, const Number& b, Precision& precision) {
  const auto *left = AsRational(a), *right = AsRational(b);
  if (left != nullptr && right != nullptr) return mpq_class(*left + *right);
  if (IsNan(a) || IsNan(b)) return Nan{};
  if (IsInfinite(a)) {
    const bool opposed = IsInfinite(b) && std::get<Infinity>(a).sign != std::get<Infinity>(b).sign;
    return opposed ? Number(Nan{}) : a;
  }
  if (IsInfinite(b)) return b;
  Interval sum(precision.bits);
  mpfi_add(sum.get(), ToInterval(a, precision.bits).get(), ToInterval(b, precision.bits).get());
  return sum;
}

Number Negate(const Number& a) {
  if (const auto* rational = AsRational(a)) return mpq_class(-*rational);
  if (const auto* infinity = std::get_if<Infinity>(&a)) return Infinity{-infinity->sign};
  if (IsNan(a)) return a;
  Interval negated = std::get<Interval>(a);
  mpfi_neg(negated.get(), negated.get());
  return negated;
}

Number Multiply(const Number& a, const Number& b, Precision& precision) {
  const auto *left = AsRational(a), *right = AsRational(b);
  if (left != nullptr && right != nullptr) return mpq_class(*left * *right);
  if (IsNan(a) || IsNan(b)) return Nan{};
  if (IsInfinite(a) || IsInfinite(b)) {
    const int sign = SignOf(a, precision) * SignOf(b, precision);
    return sign == 0 ? Number(Nan{}) : Number(Infinity{sign});
  }
  // Zero times an interval is zero.
  if ((left != nullptr && *left == 0) || (right != nullptr && *right == 0)) return mpq_class(0);
  Interval product(precision.bits);
  mpfi_mul(product.get(), ToInterval(a, precision.bits).get(), ToInterval(b, precision.bits).get());
  return product;
}

std::optional<Number> Divide(const Number& a, const Number& b, Precision& precision) {
  if (IsNan(b)) return Number(Nan{});
  if (IsInfinite(b)) {
    return IsInfinite(a) || IsNan(a) ? Number(Nan{}) : Number(mpq_class(0));
  }
  const int divisor = SignOf(b, precision);
  if (precision.undecided) return Number(Nan{});
  if (divisor == 0) return std::nullopt;
  if (IsNan(a)) return a;
  if (IsInfinite(a)) return Number(Infinity{std::get<Infinity>(a).sign * divisor});
  const auto *left = AsRational(a), *right = AsRational(b);
  if (left != nullptr && right != nullptr) return Number(mpq_class(*left / *right));
  Interval quotient(precision.bits);
  mpfi_div(quotient.get(), ToInterval(a, precision.bits).get(),
           ToInterval(b, precision.bits).get());
  return Number(quotient);
}

mpz_class RoundRational(const mpq_class& x, Rounding rounding) {
  mpz_class floor, rest;
  mpz_fdiv_qr(floor.get_mpz_t(), rest.get_mpz_t(), x.get_num_mpz_t(), x.get_den_mpz_t());
  if (rest == 0) return floor;
  mpz_class above = floor + 1;
  if (rounding == Rounding::kFloor) return floor;
  if (rounding == Rounding::kCeiling) return above;
  if (rounding == Rounding::kTowardZero) return sgn(x) < 0 ? above : floor;
  const int half = cmp(mpz_class(2 * rest), x.get_den());
  if (half != 0) return half > 0 ? above : floor;
  switch (rounding) {
    case Rounding::kHalfUp:
      return above;
    case Rounding::kHalfDown:
      return floor;
    case Rounding::kHalfAway:
      return sgn(x) < 0 ? floor : above;
    default:
      return mpz_even_p(floor.get_mpz_t()) != 0 ? floor : above;
  }
}

Number Round(const Number& x, Rounding rounding, Precision& precision) {
  if (const auto* rational = AsRational(x)) return mpq_class(RoundRational(*rational, rounding));
  const auto* interval = std::get_if<Interval>(&x);
  if (interval == nullptr) return x;
  if (BeyondIntegers(*interval)) {
    Interval moved(precision.bits);  // by less than 1
    mpfr_sub_ui(&moved.get()->left, interval->low(), 1, MPFR_RNDD);
    mpfr_add_ui(&moved.get()->right, interval->high(), 1, MPFR_RNDU);
    return moved;
  }
  const bool to_nearest = rounding < Rounding::kTowardZero;
  return RoundInterval(*interval, to_nearest, precision, [rounding](const mpq_class& bound) {
    return Number(mpq_class(RoundRational(bound, rounding)));
  });
}

mpq_class TwoTo(long exponent) {
  mpq_class power = 1;
  if (exponent >= 0) {
    mpq_mul_2exp(power.get_mpq_t(), power.get_mpq_t(), static_cast<mp_bitcnt_t>(exponent));
  } else {
    mpq_div_2exp(power.get_mpq_t(), power.get_mpq_t(), static_cast<mp_bitcnt_t>(-exponent));
  }
  return power;
}

long ExponentOf(const mpq_class& x) {
  const auto bits = [](mpz_srcptr z) { return static_cast<long>(mpz_sizeinbase(z, 2)); };
  const long guess = bits(x.get_num_mpz_t()) - bits(x.get_den_mpz_t());
  return abs(x) >= TwoTo(guess) ? guess : guess - 1;
}

Number RoundTo(const FloatFormat& format, const Number& x, Precision& precision) {
  if (const auto* rational = AsRational(x)) return RoundRationalTo(format, *rational);
  const auto* interval = std::get_if<Interval>(&x);
  if (interval == nullptr) return x;
  if (const auto infinite = BeyondIntegers(*interval)) return *infinite;
  return RoundInterval(*interval, true, precision, [&format](const mpq_class& bound) {
    return RoundRationalTo(format, bound);
  });
}

std::string ToText(const Number& x) {
  if (IsNan(x)) return "nan";
  if (const auto* infinity = std::get_if<Infinity>(&x)) {
    return infinity->sign < 0 ? "-infinity" : "infinity";
  }
  if (const auto* interval = std::get_if<Interval>(&x)) {
    char text[64];
    mpfr_snprintf(text, sizeof(text), "%.17Rg...", interval->low());
    return text;
  }
  const auto& rational = std::get<mpq_class>(x);
  const std::string exact = rational.get_str();
  constexpr std::size_t kReadable = 40;
  return exact.size() <= kReadable ? exact : "about " + std::to_string(rational.get_d());
}

Result<mpq_class> ParseNumber(std::string_view text) {
  const std::string_view whole = text;
  const bool hexadecimal = text.starts_with("0x");
  if (hexadecimal) text.remove_prefix(2);
  QTX_ASSIGN_OR_RETURN(long exponent, TakeExponent(text, hexadecimal ? "pP" : "eE"));
  const std::size_t point = std::min(text.find('.'), text.size());
  const std::string_view fraction = text.substr(std::min(point + 1, text.size()));
  const std::string digits = std::string(text.substr(0, point)).append(fraction);
  const bool bare_point = point < text.size() && (point == 0 || fraction.empty());
  if (digits.empty() || bare_point || !Digits(digits, hexadecimal)) return NotANumber(whole);
  mpq_class value = mpz_class(digits, hexadecimal ? 16 : 10);
  const auto places = static_cast<long>(fraction.size());
  if (hexadecimal) return mpq_class(value * TwoTo(exponent - 4 * places));
  exponent -= places;
  mpz_class power;
  mpz_ui_pow_ui(power.get_mpz_t(), 10, static_cast<unsigned long>(std::abs(exponent)));
  return exponent < 0 ? mpq_class(value / power) : mpq_class(value * power);
}

}  // namespace qtx::formula
