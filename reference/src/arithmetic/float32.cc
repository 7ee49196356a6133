// Coordinates kFloat32 and kFloat64: every operation rounded to that width.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "arithmetic/round.h"

namespace qtx::reference {
namespace {

template <typename T>
T RoundIn(T value, TieRule tie) {
  constexpr T kIntegral = std::numeric_limits<T>::radix / std::numeric_limits<T>::epsilon();
  if (!(std::abs(value) < kIntegral)) return value;  // integral already, or not finite
  const T inner = std::trunc(value);
  const T rest = std::abs(value - inner);  // exact: both are multiples of value's last place
  const T outer = inner + std::copysign(T{1}, value);
  if (tie == TieRule::kDown) return std::floor(value);
  if (rest < T{0.5} || tie == TieRule::kTowardZero) return inner;
  if (rest > T{0.5} || tie == TieRule::kHalfAway) return outer;
  if (tie == TieRule::kHalfUp) return std::max(inner, outer);
  if (tie == TieRule::kHalfDown) return std::min(inner, outer);
  return std::fmod(inner, T{2}) == 0 ? inner : outer;
}

// The sum in the quotient's format, rounded once. An offset beyond 2^24 is no binary32; binary64
// holds such a sum, or its neighbour of odd significand, which rounds to the same binary32.
float PlusOffset(float quotient, std::int64_t offset) {
  const double a = quotient;
  const auto b = static_cast<double>(offset);
  const double sum = a + b;
  const double error = (a - (sum - (sum - a))) + (b - (sum - a));
  const bool even = (std::bit_cast<std::uint64_t>(sum) & 1) == 0;
  if (!std::isfinite(sum) || error == 0 || !even) return static_cast<float>(sum);
  return static_cast<float>(std::nextafter(sum, std::copysign(HUGE_VAL, error)));
}
double PlusOffset(double quotient, std::int64_t offset) {
  return quotient + static_cast<double>(offset);
}

template <typename T>
std::int64_t QuantizedIn(T quotient, std::int64_t offset, const QuantizeRecipe& recipe,
                         std::int64_t min, std::int64_t max) {
  std::int64_t zero = offset;
  if (recipe.offset == QuantizeRecipe::Offset::kBeforeRounding) {
    quotient = PlusOffset(quotient, offset);
    zero = 0;
  }
  if (std::isnan(quotient)) {
    if (recipe.nan == QuantizeRecipe::Nan::kOffset) return std::clamp(offset, min, max);
    return recipe.nan == QuantizeRecipe::Nan::kMin ? min : max;
  }
  // Past 2^40 the clamp alone decides, and the conversion to an integer would not be defined.
  if (quotient > T{0x1p40}) return max;
  if (quotient < T{-0x1p40}) return min;
  const std::int64_t stored = static_cast<std::int64_t>(RoundIn(quotient, recipe.tie)) + zero;
  return std::clamp(stored, min, max);
}

}  // namespace

float RoundFloat(float value, TieRule tie) { return RoundIn(value, tie); }
double RoundFloat(double value, TieRule tie) { return RoundIn(value, tie); }

std::int64_t QuantizedQuotient(float quotient, std::int64_t offset, const QuantizeRecipe& recipe,
                               std::int64_t min, std::int64_t max) {
  return QuantizedIn(quotient, offset, recipe, min, max);
}
std::int64_t QuantizedQuotient(double quotient, std::int64_t offset, const QuantizeRecipe& recipe,
                               std::int64_t min, std::int64_t max) {
  return QuantizedIn(quotient, offset, recipe, min, max);
}

std::int64_t QuantizedFloat(float value, float scale, std::int64_t offset,
                            const QuantizeRecipe& recipe, std::int64_t min, std::int64_t max) {
  const bool reciprocal = recipe.step == QuantizeRecipe::Step::kReciprocal;
  const float quotient = reciprocal ? value * (1.0F / scale) : value / scale;
  return QuantizedQuotient(quotient, offset, recipe, min, max);
}

}  // namespace qtx::reference
