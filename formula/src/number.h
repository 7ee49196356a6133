// The values of a formula: rationals, exact; intervals that hold a transcendental value; the
// infinities and NaN. Independent of the reference, which the formulas check.
#pragma once

#include <gmpxx.h>
#include <mpfi.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "qtx/format/mpfr_cache.h"
#include "qtx/format/result.h"

namespace qtx::formula {

inline constexpr mpfr_prec_t kFirstBits = 96;
inline constexpr mpfr_prec_t kMaxBits = 8192;
inline constexpr std::size_t kMaxRationalBits = 1 << 16;

/// A closed interval with bounds of a given precision.
class Interval {
 public:
  explicit Interval(mpfr_prec_t bits) {
    format::OwnMpfrCache();
    mpfi_init2(value_, bits);
  }
  Interval(const Interval& other) {
    mpfi_init2(value_, mpfi_get_prec(other.value_));
    mpfi_set(value_, other.value_);
  }
  Interval& operator=(const Interval& other) {
    Interval copy(other);
    mpfi_swap(value_, copy.value_);
    return *this;
  }
  ~Interval() { mpfi_clear(value_); }

  mpfi_ptr get() { return value_; }
  mpfi_srcptr get() const { return value_; }
  mpfr_srcptr low() const { return &value_->left; }
  mpfr_srcptr high() const { return &value_->right; }

 private:
  mpfi_t value_;
};

struct Infinity {
  int sign = 1;
};
struct Nan {};

using Number = std::variant<mpq_class, Interval, Infinity, Nan>;

/// The precision of intervals, and a flag that it did not suffice: then results are invalid and the
/// formula is evaluated with more bits.
struct Precision {
  mpfr_prec_t bits = kFirstBits;
  bool undecided = false;
};

inline const mpq_class* AsRational(const Number& x) { return std::get_if<mpq_class>(&x); }
inline bool IsNan(const Number& x) { return std::holds_alternative<Nan>(x); }

/// Converts `x` to an interval.
Interval ToInterval(const Number& x, mpfr_prec_t bits);

/// -1, 0 or 1; 0 and undecided for an interval around zero.  REQUIRES: not NaN.
int SignOf(const Number& x, Precision& precision);
/// Less, equal or greater; nullopt beside a NaN.
std::optional<int> Compare(const Number& a, const Number& b, Precision& precision);

/// As in IEEE 754 if an operand is not finite.
Number Add(const Number& a, const Number& b, Precision& precision);
Number Negate(const Number& a);
Number Multiply(const Number& a, const Number& b, Precision& precision);
/// nullopt for a finite number or NaN divided by zero, which has no sign here.
std::optional<Number> Divide(const Number& a, const Number& b, Precision& precision);

enum class Rounding { kHalfEven, kHalfAway, kHalfUp, kHalfDown, kTowardZero, kFloor, kCeiling };
mpz_class RoundRational(const mpq_class& x, Rounding rounding);
/// Rounds to an integer. Infinities and NaN stay; an interval beyond 2^(kMaxBits / 2) grows by 1 on
/// both sides, so that it contains the integer without determining it.
Number Round(const Number& x, Rounding rounding, Precision& precision);

/// A binary floating-point format; overflow goes to infinity.
struct FloatFormat {
  std::string_view name;
  int digits;  // of the significand
  int min_exponent;
  int max_exponent;
};
inline constexpr FloatFormat kFloatFormats[] = {{"float16", 11, -14, 15},
                                                {"bfloat16", 8, -126, 127},
                                                {"float32", 24, -126, 127},
                                                {"float64", 53, -1022, 1023}};
mpq_class TwoTo(long exponent);
/// The e with 2^e <= |x| < 2^(e + 1).  REQUIRES: x is not 0.
long ExponentOf(const mpq_class& x);
/// The nearest value, ties to even, subnormals kept.
Number RoundTo(const FloatFormat& format, const Number& x, Precision& precision);

/// "3/2", "0.1234..." for an interval, "infinity", "nan".
std::string ToText(const Number& x);

/// Parses a formula's number: 12, 0.5, 1e-5, 0x1.8p-3.
/// Errors: kInvalid, kTooLarge; the place is the caller's.
Result<mpq_class> ParseNumber(std::string_view text);

}  // namespace qtx::formula
