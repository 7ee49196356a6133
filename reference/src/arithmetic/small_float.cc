#include "arithmetic/small_float.h"

#include <cmath>
#include <limits>

#include "qtx/format/tensor.h"

namespace qtx::reference {
namespace {

using format::ElementType;

// FLOAT8E8M0: code c is 2^(c - 127), 255 is NaN. What is not positive gives the least, 2^-127.
std::uint32_t ScaleCode(double value, const SmallFloatRule& rule) {
  constexpr std::uint32_t kLargest = 254;
  constexpr std::uint32_t kNan = 255;
  if (std::isnan(value)) return kNan;
  if (value <= 0) return 0;
  if (std::isinf(value)) return rule.saturate ? kLargest : kNan;
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);  // [0.5, 1)
  int power = exponent - 1;
  if (rule.scale == ScaleRounding::kUp && fraction > 0.5) ++power;
  if (rule.scale == ScaleRounding::kNearest && fraction >= 0.75) ++power;
  if (power > 127) return rule.saturate ? kLargest : kNan;
  return power < -127 ? 0 : static_cast<std::uint32_t>(power + 127);
}

// True where rounding with an unbounded exponent would pass the largest number: halfway to the
// next the even one wins, which is the largest for E4M3FN (448, mantissa 6) alone.
bool Overflows(ElementType type, double magnitude) {
  switch (type) {
    case ElementType::kFloat8E4M3FN:
      return magnitude > 464;
    case ElementType::kFloat8E4M3FNUZ:
      return magnitude >= 248;
    case ElementType::kFloat8E5M2:
    case ElementType::kFloat8E5M2FNUZ:
      return magnitude >= 61440;
    default:
      return false;  // FLOAT4E2M1 always saturates
  }
}

}  // namespace

std::uint32_t SmallFloatCode(ElementType type, double value, const SmallFloatRule& rule) {
  if (type == ElementType::kFloat8E8M0) return ScaleCode(value, rule);
  if (rule.saturate || !Overflows(type, std::abs(value))) {
    return format::EncodeSmallFloat(type, value);
  }
  if (type == ElementType::kFloat8E5M2) return value < 0 ? 0xFC : 0x7C;  // the infinities
  return format::EncodeSmallFloat(type, std::numeric_limits<double>::quiet_NaN());
}

}  // namespace qtx::reference
