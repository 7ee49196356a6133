// Exact rational numbers, NaN and the infinities of IEEE 754. They compute what neither kernels nor
// sums of terms (exact.h) can: quotients, roots, 64-bit integers.
#pragma once

#include <gmpxx.h>

#include <cstdint>
#include <optional>

#include "qtx/format/tensor.h"

namespace qtx::backend::engine {

/// A rational, NaN or an infinity. Zero has no sign (exact.S5).
class Number {
 public:
  Number() = default;
  Number(mpq_class value) : value_(std::move(value)) {}  // NOLINT: a rational is a number
  static Number Of(std::int64_t integer) { return mpq_class(integer); }
  static Number OfDouble(double value);
  static Number Nan() { return Number(Kind::kNan); }
  /// REQUIRES: sign is not 0.
  static Number Infinity(int sign) { return Number(sign < 0 ? Kind::kMinus : Kind::kPlus); }

  bool finite() const { return kind_ == Kind::kFinite; }
  bool nan() const { return kind_ == Kind::kNan; }
  /// REQUIRES: finite.
  const mpq_class& value() const { return value_; }
  /// -1, 0 or 1; 0 for NaN.
  int Sign() const;

  friend Number operator-(const Number& a);
  friend Number operator+(const Number& a, const Number& b);
  friend Number operator-(const Number& a, const Number& b) { return a + -b; }
  friend Number operator*(const Number& a, const Number& b);
  /// x / 0 is an infinity of the sign of x, 0 / 0 NaN.
  friend Number operator/(const Number& a, const Number& b);
  /// False if one is NaN.
  friend bool operator<(const Number& a, const Number& b);
  friend bool operator==(const Number& a, const Number& b);

 private:
  enum class Kind { kFinite, kNan, kMinus, kPlus };
  explicit Number(Kind kind) : kind_(kind) {}

  Kind kind_ = Kind::kFinite;
  mpq_class value_;
};

/// The greater or the lesser of two; NaN if one is NaN.
Number Greater(const Number& a, const Number& b);
Number Lesser(const Number& a, const Number& b);
Number Magnitude(const Number& a);
/// 2 to the power `exponent`, which may be negative.
mpq_class PowerOfTwo(long exponent);
/// x to an integer power; nullopt if the result would have more than some millions of bits.
std::optional<mpq_class> IntegerPower(const mpq_class& x, long exponent);
/// The root of degree n; nullopt if it is not rational.  REQUIRES: x >= 0, n >= 1.
std::optional<mpq_class> RationalRoot(const mpq_class& x, unsigned long n);

/// `value` rounded to odd: truncated to 53 bits and to multiples of 2^-1074, the last bit set if
/// that was inexact. Any rounding of it to fewer bits gives the same as that of `value`.
double RoundToOdd(const mpq_class& value);
/// The nearest double, ties to even; infinite beyond the largest.
double RoundToDouble(const mpq_class& value);

}  // namespace qtx::backend::engine
