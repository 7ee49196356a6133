#include "safetensors/reciprocal.h"

#include <cmath>

namespace qtx::convert::safetensors {
namespace {

constexpr int kTries = 1 << 16;
// The significands of a float8 of 3 bits; a power of two changes no rounding of normal numbers.
constexpr int kLeast = 8, kMost = 15;
// The least and the greatest value of the format.
constexpr float kSmallest = 0x1p-9F, kLargest = 448.0F;

// fl(value * a * b): value * a is exact in a binary64 (4 and 24 bits), and so is where the product
// by b lies to a midpoint of binary32: fma gives its rounding error.
float Rounded(float value, float a, float b) {
  const double exact = static_cast<double>(value) * static_cast<double>(a);
  const double product = exact * static_cast<double>(b);
  const double rest = std::fma(exact, static_cast<double>(b), -product);
  const auto rounded = static_cast<float>(product);
  // Only if the binary64 lies on a midpoint may the rest decide.
  const float toward =
      std::nextafterf(rounded, product > static_cast<double>(rounded) ? HUGE_VALF : 0.0F);
  const double middle = (static_cast<double>(rounded) + static_cast<double>(toward)) / 2;
  if (product != middle || rest == 0) return rounded;
  const bool up = rest > 0;
  return up == (toward > rounded) ? toward : rounded;
}

bool GivesAllQuotients(float divisor, float a, float b) {
  for (int n = kLeast; n <= kMost; ++n) {
    const auto value = static_cast<float>(n);
    if (Rounded(value, a, b) != value / divisor) return false;
  }
  return true;
}

}  // namespace

std::optional<std::vector<float>> FactorsOfQuotient(float divisor) {
  const float inverse = 1.0F / divisor;
  if (!std::isnormal(kSmallest / divisor) || !std::isfinite(kLargest / divisor) ||
      !std::isnormal(inverse)) {
    return std::nullopt;
  }
  if (std::fma(inverse, divisor, -1.0F) == 0) return std::vector{inverse};
  // a from 1 on, b the binary32 nearest to 1 / (divisor * a): their products are all around.
  float a = 1.0F;
  for (int i = 0; i < kTries; ++i, a = std::nextafterf(a, 2.0F)) {
    const double product = static_cast<double>(divisor) * static_cast<double>(a);  // exact
    const auto b = static_cast<float>(1.0 / product);
    if (std::isnormal(b) && GivesAllQuotients(divisor, a, b)) return std::vector{a, b};
  }
  return std::nullopt;
}

}  // namespace qtx::convert::safetensors
