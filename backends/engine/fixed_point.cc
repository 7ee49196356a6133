#include "engine/fixed_point.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace qtx::backend::engine {
namespace {

constexpr std::int64_t kLeast32 = std::numeric_limits<std::int32_t>::min();
constexpr std::int64_t kMost32 = std::numeric_limits<std::int32_t>::max();

}  // namespace

Multiplier MakeMultiplier(double factor) {
  constexpr int kBits = 31;
  constexpr int kLargestExponent = 30;
  constexpr Multiplier kLargest{std::numeric_limits<std::int32_t>::max(), kLargestExponent};
  if (!(factor < std::numeric_limits<double>::infinity())) return kLargest;
  int exponent = 0;
  auto mantissa =
      static_cast<std::int64_t>(std::round(std::ldexp(std::frexp(factor, &exponent), kBits)));
  if (mantissa > kMost32) {
    mantissa /= 2;
    ++exponent;
  }
  if (exponent < -kBits) return {};
  if (exponent > kLargestExponent) return kLargest;
  return {static_cast<std::int32_t>(mantissa), exponent};
}

std::int32_t Wrapped32(std::int64_t value) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(value));
}

std::int64_t MultiplyOnce(std::int32_t value, Multiplier factor) {
  const int shift = 31 - factor.exponent;  // 1 to 62
  return (std::int64_t{value} * factor.mantissa + (std::int64_t{1} << (shift - 1))) >> shift;
}

std::int64_t MultiplyTwice(std::int32_t value, Multiplier factor) {
  const std::int64_t left = std::int64_t{1} << std::max(factor.exponent, 0);
  const std::int64_t shifted = std::clamp(std::int64_t{value} * left, kLeast32, kMost32);
  // The quotient toward zero of the product plus a half of its sign is the product half up.
  const std::int64_t high = (shifted * factor.mantissa + (std::int64_t{1} << 30)) >> 31;
  const int right = std::max(-factor.exponent, 0);
  return right == 0 ? high
                    : (high + (std::int64_t{1} << (right - 1)) - (high < 0 ? 1 : 0)) >> right;
}

std::int64_t MultiplyWide(std::int64_t value, Multiplier factor) {
  constexpr std::int64_t kMost15 = (1 << 15) - 1;
  constexpr std::int64_t kMost48 = (std::int64_t{1} << 47) - 1;
  const std::int64_t mantissa =
      std::min((std::int64_t{factor.mantissa} + (1 << 15)) >> 16, kMost15);
  const int shift = 15 - factor.exponent;  // 8 to 46
  const std::int64_t sum = std::clamp(value, -kMost48 - 1, kMost48);
  return (sum * mantissa + (std::int64_t{1} << (shift - 1))) >> shift;
}

std::int64_t DivideHalfAway(std::int64_t value, std::int64_t count) {
  return (value >= 0 ? value + count / 2 : value - count / 2) / count;
}

}  // namespace qtx::backend::engine
