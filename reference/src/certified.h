// Proven-fast numbers: binary64 results with a bound on their error, and the question whether that
// bound leaves the rounding in doubt. Callers decide exactly when it does.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

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
/// most three additions one, the quotient one; divisor * scale has at most 53 bits and is exact.
/// Hence at most (1+u)^6 - 1 < 7u times the sum of magnitudes over the denominator. Nothing under-
/// or overflows: magnitudes lie between 2^-298 * 2^-128 * 2^-29 and 2^256 * 2^63 * 2^149 * 4.
Approximation Quotient(std::span<const Term> terms, std::int64_t divisor, float scale);
/// The same, exactly.
Rational ExactQuotient(std::span<const Term> terms, std::int64_t divisor, float scale);

/// roundHalfEven(x) clamped to [min, max], or nullopt when the bound leaves it in doubt.
/// REQUIRES: |min|, |max| < 2^40.
std::optional<std::int64_t> CertainlyRounded(const Approximation& x, std::int64_t min,
                                             std::int64_t max);
/// x as binary32, or nullopt when two of them are possible.
std::optional<float> CertainlyFloat(const Approximation& x);

/// e^x correctly rounded to binary32; NaN and infinities as usual.
float Exp32(float x);

}  // namespace qtx::reference
