// Scalar rounding by the coordinates of a recipe. Operators never call these: they put values into
// an Output or a Requantizer.
#pragma once

#include <cstdint>

#include "qtx/reference/arithmetic.h"
#include "rational.h"

namespace qtx::reference {

/// clamp(round(quotient) + offset), or clamp(round(quotient + offset)) as the recipe says:
/// exact.S1. Units: quotient = real / scale, in LSB.
std::int64_t QuantizedInteger(const Rational& quotient, std::int64_t offset,
                              const QuantizeRecipe& recipe, std::int64_t min, std::int64_t max);

/// The same in binary32: value / scale (or value * (1 / scale)), each operation rounded:
/// float32.S2. REQUIRES: value is finite.
std::int64_t QuantizedFloat(float value, float scale, std::int64_t offset,
                            const QuantizeRecipe& recipe, std::int64_t min, std::int64_t max);

/// `value` rounded to an integral binary32.
float RoundFloat(float value, TieRule tie);

/// `value` / 2^shift rounded to an integer.  REQUIRES: 0 <= shift < 63, |value| < 2^62.
std::int64_t RoundShift(std::int64_t value, int shift, TieRule tie);

/// sum / count rounded to an integer.  REQUIRES: count > 0, |sum| < 2^62, count < 2^62.
std::int64_t RoundQuotient(std::int64_t sum, std::int64_t count, TieRule tie);

/// A real factor as Q0.31 mantissa in [2^30, 2^31) and a power of two: factor ~ mantissa *
/// 2^(shift-31).
struct FixedMultiplier {
  std::int32_t mantissa = 0;
  int shift = 0;  // left shift positive
};
/// The mantissa is rounded half away; a factor below 2^-32 becomes 0: tflite.S1.
FixedMultiplier ToFixed(double factor);

/// value * multiplier, with one rounding of the whole product by `tie`, or with two: the high half
/// of the doubled product by `tie`, then the right shift half away (gemmlowp's pair). The left
/// shift saturates to 32 bits.  Source: tflite.S2 (once), tflite.S3 (twice).
std::int64_t MultiplyFixed(std::int64_t value, FixedMultiplier multiplier,
                           RequantizeRecipe::Rounds rounds, TieRule tie);

}  // namespace qtx::reference
