// Codes of the 4-, 8- and 16-bit floats. Source: IEEE 754-2019 (float16), bfloat16 as the upper
// half of binary32, OCP 8-bit Floating Point v1.0 and ONNX's float8 tables (FN, FNUZ), OCP MX v1.0
// (E2M1, E8M0).
#include <algorithm>
#include <cmath>
#include <limits>

#include "qtx/format/tensor.h"

namespace qtx::format {
namespace {

enum class Specials {
  kIeee,  // the top exponent is infinity and NaN
  kFn,    // no infinity; the all-ones code of either sign is NaN
  kFnuz,  // no infinity, no -0; the code of -0 is NaN
  kNone,  // every code is finite
};

struct Layout {
  int exponent_bits, mantissa_bits, bias;
  Specials specials;
  int bits() const { return 1 + exponent_bits + mantissa_bits; }
};

Layout LayoutOf(ElementType storage) {
  switch (storage) {
    case ElementType::kFloat16:
      return {5, 10, 15, Specials::kIeee};
    case ElementType::kBfloat16:
      return {8, 7, 127, Specials::kIeee};
    case ElementType::kFloat8E4M3FN:
      return {4, 3, 7, Specials::kFn};
    case ElementType::kFloat8E4M3FNUZ:
      return {4, 3, 8, Specials::kFnuz};
    case ElementType::kFloat8E5M2:
      return {5, 2, 15, Specials::kIeee};
    case ElementType::kFloat8E5M2FNUZ:
      return {5, 2, 16, Specials::kFnuz};
    default:
      return {2, 1, 1, Specials::kNone};  // FLOAT4E2M1
  }
}

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

double Decode(const Layout& layout, std::uint32_t code) {
  const std::uint32_t sign_bit = 1U << (layout.bits() - 1);
  const std::uint32_t magnitude = code & (sign_bit - 1);
  const std::uint32_t mantissa = magnitude & ((1U << layout.mantissa_bits) - 1);
  const auto exponent = static_cast<int>(magnitude >> layout.mantissa_bits);
  const int top = (1 << layout.exponent_bits) - 1;
  if (layout.specials == Specials::kFnuz && (code & (2 * sign_bit - 1)) == sign_bit) return kNan;
  if (layout.specials == Specials::kFn && magnitude == sign_bit - 1) return kNan;
  const double sign = (code & sign_bit) != 0 ? -1.0 : 1.0;
  if (layout.specials == Specials::kIeee && exponent == top) {
    return mantissa != 0 ? kNan : sign * std::numeric_limits<double>::infinity();
  }
  const int implicit = exponent == 0 ? 0 : 1 << layout.mantissa_bits;
  return sign * std::ldexp(implicit + static_cast<int>(mantissa),
                           std::max(exponent, 1) - layout.bias - layout.mantissa_bits);
}

// The largest finite magnitude code.
std::uint32_t LargestCode(const Layout& layout) {
  const std::uint32_t all = (1U << (layout.bits() - 1)) - 1;
  switch (layout.specials) {
    case Specials::kIeee:
      return all - (1U << layout.mantissa_bits);
    case Specials::kFn:
      return all - 1;
    case Specials::kFnuz:
    case Specials::kNone:
      break;
  }
  return all;
}

std::uint32_t NanCode(const Layout& layout) {
  const std::uint32_t sign_bit = 1U << (layout.bits() - 1);
  switch (layout.specials) {
    case Specials::kIeee:  // quiet: the highest mantissa bit
      return (sign_bit - (1U << layout.mantissa_bits)) | (1U << (layout.mantissa_bits - 1));
    case Specials::kFn:
      return sign_bit - 1;
    case Specials::kFnuz:
      return sign_bit;
    case Specials::kNone:
      break;
  }
  return 0;
}

// Magnitude codes are in the order of their values, so the neighbours of `magnitude` are found by
// bisection; the even code of the two is the one with the even mantissa.
std::uint32_t Nearest(const Layout& layout, double magnitude) {
  std::uint32_t low = 0;
  std::uint32_t high = LargestCode(layout);
  if (magnitude >= Decode(layout, high)) return high;
  while (high - low > 1) {
    const std::uint32_t middle = low + (high - low) / 2;
    (Decode(layout, middle) <= magnitude ? low : high) = middle;
  }
  const double below = magnitude - Decode(layout, low);  // exact: Sterbenz, or low is 0
  const double above = Decode(layout, high) - magnitude;
  if (below != above) return below < above ? low : high;
  return low % 2 == 0 ? low : high;
}

std::uint32_t EncodeScale(double value) {  // FLOAT8E8M0: 2^(code - 127), 255 is NaN
  if (!(value > 0)) return std::isnan(value) ? 255 : 0;
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);  // [0.5, 1)
  int power = exponent - 1;
  const bool tie_goes_up = (power + 127) % 2 != 0;
  if (fraction > 0.75 || (fraction == 0.75 && tie_goes_up)) ++power;
  return static_cast<std::uint32_t>(std::min(std::max(power + 127, 0), 254));
}

}  // namespace

double DecodeSmallFloat(ElementType storage, std::uint32_t code) {
  if (storage != ElementType::kFloat8E8M0) return Decode(LayoutOf(storage), code);
  return code == 255 ? kNan : std::ldexp(1.0, static_cast<int>(code) - 127);
}

std::uint32_t EncodeSmallFloat(ElementType storage, double value) {
  if (storage == ElementType::kFloat8E8M0) return EncodeScale(value);
  const Layout layout = LayoutOf(storage);
  if (std::isnan(value)) return NanCode(layout);
  const std::uint32_t code = Nearest(layout, std::fabs(value));
  if (!std::signbit(value) || (code == 0 && layout.specials == Specials::kFnuz)) return code;
  return code | (1U << (layout.bits() - 1));
}

}  // namespace qtx::format
