// Exact decisions about sums of integer * scale, by floating-point expansions: no rounding error,
// no big integers.  Source: J. R. Shewchuk, "Adaptive Precision Floating-Point Arithmetic", 1997,
// sections 2.3-2.5.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/double_double.h"
#include "qtx/format/element_type.h"

namespace qtx::backend::engine {

/// The real number integer * scale; NaN or an infinity if the product in binary64 is one.
/// `integer` has at most 53 bits (for a scaled float with its point), none below 2^-40. `scale` is
/// a binary32, or the product of two or three, or the rest of such a product: its last bit is at
/// 2^-450 or above, its magnitude at most 2^450. So no product over- or underflows.
/// A term of scale 1 may have any integer of magnitude 2^-960 to 2^960.
struct Term {
  double integer = 0;
  double scale = 0;
};

/// The term's exact value, normalised; NaN or an infinity is in `high`.
DoubleDouble ValueOf(const Term& term);

/// a < b exactly, with infinities ordered as in IEEE 754; false if one is NaN.
bool Less(const Term& a, const Term& b);

/// Appends factor * a * b, exactly.  REQUIRES: the scales of a and b are binary32, as `factor` is.
void AppendProduct(const Term& a, const Term& b, float factor, std::vector<Term>& terms);

/// Sign (-1, 0, +1) of the exact sum of finite terms.
int SignOfSum(std::span<const Term> terms);

/// A value over the reals: (sum of terms) / (divisor * unit). `unit` is the output's scale,
/// `divisor` a count below 2^53 (1 unless a mean is taken). The terms are finite.
struct Quotient {
  std::span<const Term> terms;
  double unit = 1;
  std::int64_t divisor = 1;
};

/// clamp(roundHalfEven(value), range.min, range.max), decided exactly.
/// `guess` is where the search starts.  REQUIRES: |k| < 2^52 for every k of the range.
std::int64_t RoundHalfEvenExactly(const Quotient& value, format::IntegerRange range,
                                  std::int64_t guess);

/// The same, but in binary64 where its error bound allows.
std::int64_t RoundHalfEven(const Quotient& value, format::IntegerRange range);

/// clamp(roundHalfEven((high + low) / unit)) of an exact sum of two binary64, of which `low` is at
/// most half an ulp of `high`.  REQUIRES: unit is a binary32 above 0, the range within 2^18.
std::int64_t RoundPairHalfEven(const DoubleDouble& real, double unit, format::IntegerRange range);

/// The finite sum / divisor rounded once to binary32, ties to even; beyond the largest finite value
/// it is infinite.
float RoundToFloat(std::span<const Term> terms, std::int64_t divisor = 1);

/// The code of the small float nearest to `value`, ties to the even code, saturating at the largest
/// finite magnitude.  REQUIRES: format::IsSmallFloat(storage).
std::uint32_t RoundToSmallFloat(const Quotient& value, format::ElementType storage);

/// -1 or 1, clamped to the range in use: exact.S9.
inline std::int32_t BipolarOf(bool negative, format::IntegerRange range) {
  return static_cast<std::int32_t>(
      std::clamp<std::int64_t>(negative ? -1 : 1, range.min, range.max));
}

}  // namespace qtx::backend::engine
