// Proven-fast numbers: binary64 results with a bound on their error, and the question whether that
// bound leaves the rounding in doubt. Callers decide exactly when it does.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "rational.h"

namespace qtx::reference {

/// integer * scale, where scale is exactly a product of at most two binary32 values.
struct Term {
  std::int64_t integer = 0;
  double scale = 0;
};

/// A real known to lie within `bound` of `value`.
struct Approximation {
  double value = 0;
  double bound = 0;
};

/// (sum of terms) / (divisor * scale), at most 4 terms, 0 < divisor < 2^29.
/// Error: with u = 2^-53, an integer above 2^53 costs one rounding, each product one, each of at
/// most three additions one, the reciprocal and the product with it one each; divisor * scale has
/// at most 53 bits and is exact. Hence at most (1+u)^7 - 1 < 8u times the sum of magnitudes over
/// the denominator. Nothing under- or overflows: magnitudes lie between 2^-298 * 2^-128 * 2^-29 and
/// 2^256 * 2^63 * 2^149 * 4.
inline Approximation Quotient(std::span<const Term> terms, std::int64_t divisor, float scale) {
  double sum = 0;
  double magnitude = 0;
  for (const Term& term : terms) {
    const double product = static_cast<double>(term.integer) * term.scale;
    sum += product;
    magnitude += std::abs(product);
  }
  const double inverse = 1 / (static_cast<double>(divisor) * static_cast<double>(scale));
  // 10u instead of 8u covers the roundings of the bound itself.
  return {sum * inverse, magnitude * inverse * 0x1.4p-50};
}
/// The same, exactly.
Rational ExactQuotient(std::span<const Term> terms, std::int64_t divisor, float scale);

/// The shares e^x[i] / sum of e^x[j] of the finite elements of a row; 0 for the others.
class Shares {
 public:
  /// `max`: the largest of `row`, which is finite.
  Shares(std::span<const Dyadic> row, const Dyadic& max);

  /// Error: with u = 2^-53, r the largest magnitude and n elements, converting x and max and
  /// subtracting them errs by at most 4ur, which is the relative error of the exponential; libm
  /// adds 2u (glibc manual, "Known Maximum Errors": below 1 ulp). The sum has the same relative
  /// error and n - 1 additions more, the quotient both and one rounding: (8r + n + 4)u, and twice
  /// (8r + n + 16)u is taken. Exponentials below 2^-1000 have no relative precision, but an
  /// absolute one of 2^-1074, and the sum is at least 1.
  /// nullopt where r is too large for that to be of use.
  std::optional<Approximation> At(std::size_t i) const;
  /// The logarithm of the share of a finite element, x - max - log(sum). Error: the difference errs
  /// by 4ur and the logarithm by the relative error of the sum, (4r + n + 2)u, and 2u of itself,
  /// the subtraction by u: twice (8r + n + 16)u + 2u(|log(sum)| + |result|) is taken.
  std::optional<Approximation> LogAt(std::size_t i) const;
  /// max + log(sum), the logarithm of the sum of e^x. Error: that of the logarithm of the sum as
  /// above, u of max where it is converted, u of the result: the same bound holds.
  std::optional<Approximation> LogOfSum() const;

 private:
  double Roundings() const { return 8 * reach_ + static_cast<double>(exponentials_.size()) + 16; }

  std::vector<double> differences_;   // x - max
  std::vector<double> exponentials_;  // of them
  double highest_ = 0;                // max
  double sum_ = 0;
  double reach_ = 0;  // the largest magnitude
};

/// roundHalfEven(x) clamped to [min, max], or nullopt when the bound leaves it in doubt.
/// REQUIRES: |min|, |max| < 2^40.
inline std::optional<std::int64_t> CertainlyRounded(const Approximation& x, std::int64_t min,
                                                    std::int64_t max) {
  // Outside the range nothing but the clamp matters: from a unit past its end on, all is alike.
  const auto low = static_cast<double>(min - 1);
  const auto high = static_cast<double>(max + 1);
  const double above = x.value < low ? low : x.value;  // without a branch: clamps are frequent
  const double inside = above > high ? high : above;
  // Adding and subtracting 1.5 * 2^52 leaves the nearest integer, so that the difference is exact;
  // the tie lies 1/2 away from nearest.
  const double nearest = (inside + 0x1.8p52) - 0x1.8p52;
  if (0.5 - std::abs(inside - nearest) > x.bound) {
    const auto rounded = static_cast<std::int64_t>(nearest);
    return rounded < min ? min : rounded > max ? max : rounded;
  }
  if (x.value - x.bound > high) return max;
  if (x.value + x.bound < low) return min;
  return std::nullopt;
}
/// x as binary32, or nullopt when two of them are possible, the two zeros being two.
std::optional<float> CertainlyFloat(const Approximation& x);

/// e^x correctly rounded to binary32; NaN and infinities as usual.
float Exp32(float x);

}  // namespace qtx::reference
