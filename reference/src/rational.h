// Exact numbers: dyadic reals of tensor elements, exact sums of their products, rationals.
#pragma once

#include <gmpxx.h>

#include <array>
#include <cstdint>
#include <limits>
#include <optional>

#include "qtx/reference/arithmetic.h"

namespace qtx::reference {

using Rational = mpq_class;

/// mantissa * 2^exponent, or an infinity with the mantissa's sign, or NaN. Every element of every
/// tensor is one: a float, an integer, a binary32 scale times an integer of at most 33 bits (57
/// bits), or that plus a base (53 bits: quantization.C18).
struct Dyadic {
  enum class Kind : std::int32_t { kFinite, kInfinite, kNan };
  std::int64_t mantissa = 0;
  std::int32_t exponent = 0;
  Kind kind = Kind::kFinite;
};

/// Exact for every double.
Dyadic ToDyadic(double value);
/// -1, 0, +1.  REQUIRES: neither is NaN.
int Compare(const Dyadic& a, const Dyadic& b);
/// scale * integer.  REQUIRES: |integer| < 2^39, scale finite.
Dyadic Scaled(float scale, std::int64_t integer);

/// An exact result: a rational, or what IEEE 754 gives when an operand was not finite.
struct Real {
  bool finite = true;
  double special = 0;  // NaN or an infinity when not finite
  Rational value;
};
Rational ToRational(const Dyadic& finite);
/// Exact for every value, the lowest of 128 bits included.
Rational ToRational(__int128 value);
Real ToReal(const Dyadic& value);
/// The double nearest to an element's value, of its sign.  REQUIRES: finite.
double NearDouble(const Dyadic& value);
/// The value as a double, or nullopt where that may not be exact.  REQUIRES: finite.
std::optional<double> ExactDouble(const Dyadic& value);
/// a / b. As a real zero has no sign, x / 0 is an infinity with the sign of x, and 0 / 0 NaN.
Real Divide(const Dyadic& a, const Dyadic& b);

/// Sum of dyadics and of products of two of them without any rounding (a Kulisch accumulator):
/// fixed point over 2^-736 .. 2^800, each cell holding 32 bits and its carries; what only DOUBLE
/// reaches beyond that is summed as a rational.
class ExactSum {
 public:
  void Add(const Dyadic& term);
  void AddProduct(const Dyadic& a, const Dyadic& b);
  /// integer * 2^exponent.  REQUIRES: |integer| < 2^127.
  void AddInteger(__int128 integer, int exponent);
  Real Value() const;

 private:
  static constexpr int kLowest = -736;  // below twice the exponent of any element (2^-149 * 2^-32)
  static constexpr int kCells = 48;
  void AddFinite(unsigned __int128 magnitude, bool negative, int exponent);
  void AddBeyond(unsigned __int128 magnitude, bool negative, int exponent);
  void AddSpecial(double value);
  void Normalize();
  std::array<std::int64_t, kCells> cells_{};
  std::uint32_t pending_ = 0;  // additions since the carries were last propagated
  double special_ = 0;         // sum of non-finite terms
  bool finite_ = true;
  std::optional<Rational> beyond_;
};

/// `value` rounded to an integer by `tie`.
mpz_class Round(const Rational& value, TieRule tie);
/// `value` rounded half to even to a binary32; overflow gives an infinity.
float NearestFloat(const Rational& value);
/// The same for binary64.
double NearestDouble(const Rational& value);
/// `value` rounded to odd in binary64 (truncated, the last bit set when inexact): rounding that
/// again to a format of at most 51 bits equals rounding `value` once (Boldo, Melquiond 2008).
double OddDouble(const Rational& value);

}  // namespace qtx::reference
