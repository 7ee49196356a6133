#include "arithmetic/small_float.h"

#include <cmath>
#include <limits>

namespace qtx::reference {
namespace {

using format::ElementType;

constexpr std::int32_t kScaleNan = 255;  // of FLOAT8E8M0

// Powers of two 2^-127 .. 2^127 under the codes 0 .. 254.  Source: cast.S10.
std::int32_t ScaleCode(double value, const SmallFloatRule& rule) {
  if (std::isnan(value) || value < 0) return kScaleNan;
  if (value < 0x1p-127) return rule.saturate ? 0 : kScaleNan;
  if (value > 0x1p127) return rule.saturate ? 254 : kScaleNan;
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);  // [0.5, 1)
  const bool up = rule.power == SmallFloatRule::Power::kUp        ? fraction > 0.5
                  : rule.power == SmallFloatRule::Power::kNearest ? fraction >= 0.75
                                                                  : false;
  return exponent - 1 + (up ? 1 : 0) + 127;
}

// True when |odd| rounds past the largest finite value, whose code is `largest`: at the tie to the
// even code of the two, the next code being that of an infinity, a NaN or none.
bool Overflows(ElementType storage, double odd, std::uint32_t largest) {
  const double top = format::DecodeSmallFloat(storage, largest);
  const double half_step = (top - format::DecodeSmallFloat(storage, largest - 1)) / 2;
  const double beyond = std::abs(odd) - top;
  return beyond > half_step || (beyond == half_step && largest % 2 != 0);
}

}  // namespace

std::int32_t SmallFloatCode(ElementType storage, double odd, const SmallFloatRule& rule) {
  if (storage == ElementType::kFloat8E8M0) return ScaleCode(odd, rule);
  const auto nearest = static_cast<std::int32_t>(format::EncodeSmallFloat(storage, odd));
  if (rule.saturate || storage == ElementType::kFloat4E2M1 || std::isnan(odd)) return nearest;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::uint32_t largest = format::EncodeSmallFloat(storage, kInfinity);
  if (!Overflows(storage, odd, largest)) return nearest;
  // E5M2 has an infinity, one code above; so lies the NaN of E4M3FN. FNUZ has one NaN, at -0.
  const bool fnuz =
      storage == ElementType::kFloat8E4M3FNUZ || storage == ElementType::kFloat8E5M2FNUZ;
  if (fnuz) return 0x80;
  return static_cast<std::int32_t>(largest + 1) | (std::signbit(odd) ? 0x80 : 0);
}

std::int32_t HalfCode(ElementType type, double odd) {
  const double limit = type == ElementType::kFloat16 ? 65520.0 : 0x1.ffp127;
  const auto nearest = static_cast<std::int32_t>(format::EncodeSmallFloat(type, odd));
  if (!(std::abs(odd) >= limit)) return nearest;  // encoding alone would saturate
  return (type == ElementType::kFloat16 ? 0x7C00 : 0x7F80) | (std::signbit(odd) ? 0x8000 : 0);
}

float InRealType(ElementType type, float value) {
  if (!format::IsHalf(type)) return value;
  const std::int32_t code = HalfCode(type, static_cast<double>(value));
  return static_cast<float>(format::DecodeSmallFloat(type, static_cast<std::uint32_t>(code)));
}

}  // namespace qtx::reference
