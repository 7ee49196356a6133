// Coordinate kFloat32: every operation rounded to binary32.
#include <cmath>

#include "arithmetic/round.h"

namespace qtx::reference {

float RoundFloat(float value, TieRule tie) {
  if (!(std::abs(value) < 0x1p23F)) return value;  // integral already, or not finite
  const float below = std::floor(value);
  // In binary64: near 1/2 the difference needs up to 26 bits.
  const double fraction = static_cast<double>(value) - static_cast<double>(below);
  switch (tie) {
    case TieRule::kTowardZero:
      return std::trunc(value);
    case TieRule::kHalfAway:
      return std::round(value);
    case TieRule::kHalfUp:
      return fraction >= 0.5 ? below + 1 : below;
    case TieRule::kHalfEven:
      break;
  }
  if (fraction != 0.5) return fraction > 0.5 ? below + 1 : below;
  return std::fmod(below, 2.0F) == 0 ? below : below + 1;
}

std::int64_t QuantizedFloat(float value, float scale, std::int64_t offset,
                            const QuantizeRecipe& recipe, std::int64_t min, std::int64_t max) {
  const bool reciprocal = recipe.step == QuantizeRecipe::Step::kReciprocal;
  float quotient = reciprocal ? value * (1.0F / scale) : value / scale;
  std::int64_t zero = offset;
  if (recipe.offset == QuantizeRecipe::Offset::kBeforeRounding) {
    quotient += static_cast<float>(offset);
    zero = 0;
  }
  if (std::isnan(quotient)) return offset;
  // Past 2^40 the clamp alone decides, and the conversion to an integer would not be defined.
  if (quotient > 0x1p40F) return max;
  if (quotient < -0x1p40F) return min;
  const std::int64_t stored = static_cast<std::int64_t>(RoundFloat(quotient, recipe.tie)) + zero;
  return stored < min ? min : stored > max ? max : stored;
}

}  // namespace qtx::reference
