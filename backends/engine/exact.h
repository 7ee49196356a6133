// Exact decisions about sums of integer * scale, by floating-point expansions: no rounding error,
// no big integers.  Source: J. R. Shewchuk, "Adaptive Precision Floating-Point Arithmetic", 1997,
// sections 2.3-2.5.
#pragma once

#include <cstdint>
#include <span>

#include "qtx/format/element_type.h"

namespace qtx::backend::engine {

/// The real number integer * scale. `integer` is integral with at most 53 bits, `scale` any double
/// of magnitude 2^-450..2^450 (a binary32, or the product of two or three): no product under- or
/// overflows.
struct Term {
  double integer = 0;
  double scale = 0;
};

/// The most terms a sum may have.
inline constexpr std::size_t kMaxTerms = 8;

/// Sign (-1, 0, +1) of the exact sum.  REQUIRES: terms.size() <= kMaxTerms.
int SignOfSum(std::span<const Term> terms);

/// A value over the reals: (sum of terms) / (divisor * unit). `unit` is the output's scale,
/// `divisor` a count (1 unless a mean is taken).
struct Quotient {
  std::span<const Term> terms;
  double unit = 1;
  std::int64_t divisor = 1;
};

/// clamp(roundHalfEven(value), range.min, range.max), decided exactly.
/// `guess` is where the search starts.  REQUIRES: terms.size() < kMaxTerms, and
/// (2 * |k| + 1) * divisor < 2^53 for every k of the range.
std::int64_t RoundHalfEvenExactly(const Quotient& value, format::IntegerRange range,
                                  std::int64_t guess);

/// The same; most values are settled in binary64 and only doubtful ones exactly.
std::int64_t RoundHalfEven(const Quotient& value, format::IntegerRange range);

/// The sum rounded once to binary32, ties to even; beyond the largest finite value it is infinite.
float RoundToFloat(std::span<const Term> terms);

}  // namespace qtx::backend::engine
