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
/// Its second half: a quotient, the offset and the clamp. A NaN goes where the recipe says.
std::int64_t QuantizedQuotient(float quotient, std::int64_t offset, const QuantizeRecipe& recipe,
                               std::int64_t min, std::int64_t max);
std::int64_t QuantizedQuotient(double quotient, std::int64_t offset, const QuantizeRecipe& recipe,
                               std::int64_t min, std::int64_t max);

inline bool IsToNearest(TieRule tie) {
  return tie != TieRule::kTowardZero && tie != TieRule::kDown;
}

/// `value` rounded to an integral binary32, or binary64.
float RoundFloat(float value, TieRule tie);
double RoundFloat(double value, TieRule tie);

/// `value` / 2^shift rounded to an integer.  REQUIRES: 0 <= shift < 63, |value| < 2^62.
std::int64_t RoundShift(std::int64_t value, int shift, TieRule tie);

/// sum / count rounded to an integer.  REQUIRES: count > 0, |sum| < 2^62, count < 2^62.
std::int64_t RoundQuotient(std::int64_t sum, std::int64_t count, TieRule tie);

/// `sum` as an accumulator of that width holds it.
std::int64_t Accumulated(std::int64_t sum, RequantizeRecipe::Accumulator width);

/// A real factor as a mantissa in [2^(bits-1), 2^bits) and a power of two: factor ~ mantissa *
/// 2^(shift-bits).
struct FixedMultiplier {
  std::int32_t mantissa = 0;
  int shift = 0;  // left shift positive
  int bits = 31;
};
/// The mantissa is rounded half away; with 31 bits a factor below 2^-32 becomes 0 and one of 2^30
/// or more the largest: tflite.S1.
FixedMultiplier ToFixed(double factor, int bits = 31);

/// value * multiplier, with one rounding of the whole product by `tie`, or with two: the high half
/// of the doubled product by `tie`, then the right shift half away (gemmlowp's pair). The left
/// shift of two roundings saturates to 32 bits; kTwiceWrapped and kTwiceHalfUp wrap it, and the
/// latter shifts right by `tie`.
/// Source: tflite.S2 (once), tflite.S3 (twice), tflite_half_up.S1.
/// REQUIRES: |value| < 2^(62 - bits), and of two roundings bits = 31.
std::int64_t MultiplyFixed(std::int64_t value, FixedMultiplier multiplier,
                           RequantizeRecipe::Rounds rounds, TieRule tie);

/// (((value >> before) * mantissa + 2^(after-1)) >> after), in 32 bits that wrap: glow.S2.
struct PreShift {
  int before = 0;
  std::int32_t mantissa = 0;
  int after = 1;
};
/// REQUIRES: 2^-32 <= factor < 2^8.
PreShift ToPreShift(float factor);
std::int64_t MultiplyPreShifted(std::int64_t value, PreShift multiplier);

}  // namespace qtx::reference
