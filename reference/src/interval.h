// Intervals that are certain to hold a real, with endpoints of any precision: the way to every
// result that is not a rational number.
#pragma once

#include <mpfi.h>

#include <cstdint>
#include <functional>

#include "rational.h"

namespace qtx::reference {

/// A closed interval with MPFR endpoints of `bits` bits. Every operation rounds outwards, so that
/// the result holds f(x) for every x of its operands; its precision is that of its first operand.
class Interval {
 public:
  Interval(const Rational& value, int bits);
  /// Exactly `value`, whatever `bits` of at least 64.  REQUIRES: finite.
  Interval(const Dyadic& value, int bits);
  Interval(const Interval& other);
  Interval(Interval&& other) noexcept;
  Interval& operator=(Interval other) noexcept;
  ~Interval() { mpfi_clear(value_); }

  /// True when all of it lies below zero.
  bool IsNegative() const { return mpfi_is_strictly_neg(value_) > 0; }
  /// True when it is the number zero.
  bool IsZero() const { return mpfi_is_zero(value_) > 0; }
  /// True when all of it is nearer to zero than `magnitude`.
  bool IsBelow(const Rational& magnitude) const;
  int bits() const { return static_cast<int>(mpfi_get_prec(value_)); }
  /// The ends; those nearer to zero than 2^-2000 are moved to +-2^-2001, or +-2^-2000 on the outer
  /// side, and those farther than 2^2000 to that: nothing that is stored tells such values apart.
  Rational low() const;
  Rational high() const;

  Interval& operator+=(const Interval& b);
  Interval& operator-=(const Interval& b);
  Interval& operator*=(const Interval& b);
  /// The whole line when `b` holds zero.
  Interval& operator/=(const Interval& b);
  /// Times 2^exponent, exactly.
  Interval& operator<<=(std::int64_t exponent);

  friend Interval Max(Interval a, const Interval& b);
  friend Interval Min(Interval a, const Interval& b);
  friend Interval Exp(Interval x);
  friend Interval Expm1(Interval x);
  friend Interval Log(Interval x);                    // REQUIRES: x > 0
  friend Interval Log1p(Interval x);                  // REQUIRES: x > -1
  friend Interval Sqrt(Interval x);                   // REQUIRES: x >= 0
  friend Interval Root(Interval x, unsigned degree);  // REQUIRES: x >= 0, degree > 0
  friend Interval Tanh(Interval x);
  friend Interval Sin(Interval x);
  friend Interval Cos(Interval x);
  friend Interval Tan(Interval x);
  friend Interval Asin(Interval x);  // REQUIRES: -1 <= x <= 1
  friend Interval Acos(Interval x);  // REQUIRES: -1 <= x <= 1
  friend Interval Atan(Interval x);
  friend Interval Sinh(Interval x);
  friend Interval Cosh(Interval x);
  friend Interval Asinh(Interval x);
  friend Interval Acosh(Interval x);  // REQUIRES: x >= 1
  friend Interval Atanh(Interval x);  // REQUIRES: -1 < x < 1
  friend Interval Erf(Interval x);
  friend Interval Erfc(Interval x);
  friend Interval Pi(int bits);

 private:
  mpfi_t value_;
};

/// Of the reals they hold, which is not what orders intervals.
Interval Max(Interval a, const Interval& b);
Interval Min(Interval a, const Interval& b);
Interval Exp(Interval x);
Interval Expm1(Interval x);
Interval Log(Interval x);
Interval Log1p(Interval x);
Interval Sqrt(Interval x);
Interval Root(Interval x, unsigned degree);
Interval Tanh(Interval x);
Interval Sin(Interval x);
Interval Cos(Interval x);
Interval Tan(Interval x);
Interval Asin(Interval x);
Interval Acos(Interval x);
Interval Atan(Interval x);
Interval Sinh(Interval x);
Interval Cosh(Interval x);
Interval Asinh(Interval x);
Interval Acosh(Interval x);
Interval Atanh(Interval x);
Interval Erf(Interval x);
Interval Erfc(Interval x);
Interval Pi(int bits);

inline Interval operator+(Interval a, const Interval& b) { return std::move(a += b); }
inline Interval operator-(Interval a, const Interval& b) { return std::move(a -= b); }
inline Interval operator*(Interval a, const Interval& b) { return std::move(a *= b); }
inline Interval operator/(Interval a, const Interval& b) { return std::move(a /= b); }

/// The first and the last precision that a result is evaluated with, each twice the one before.
/// Source: exact.S6.
inline constexpr int kFirstBits = 128;
inline constexpr int kLastBits = 8192;

/// An interval that holds one certain real, computed with `bits` bits.
using Enclosure = std::function<Interval(int bits)>;

/// A number that rounds as the enclosed real x does. The precision is doubled until `same` says of
/// both ends that they round alike. Where 8192 bits leave it open, x is taken to be the tie that
/// lies between them: the number of 64 bits nearest to x / scale, times scale.  Source: exact.S6.
Rational Decided(const Enclosure& enclose, const Rational& scale,
                 const std::function<bool(const Rational& low, const Rational& high)>& same);
/// The binary32 nearest to the enclosed real, ties to even.
float NearestFloat(const Enclosure& enclose);

}  // namespace qtx::reference
