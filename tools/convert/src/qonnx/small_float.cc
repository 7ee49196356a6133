#include "qonnx/small_float.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "qtx/format/tensor_type.h"

namespace qtx::convert {
namespace {

using format::ElementType;

// Known formats: bits of exponent and mantissa, bias, greatest finite value.
struct SmallFloat {
  std::int64_t exponent, mantissa, bias;
  float max;
  ElementType storage;
};
constexpr std::array kSmallFloats = {
    SmallFloat{4, 3, 7, 448, ElementType::kFloat8E4M3FN},
    SmallFloat{4, 3, 8, 240, ElementType::kFloat8E4M3FNUZ},
    SmallFloat{5, 2, 15, 57344, ElementType::kFloat8E5M2},
    SmallFloat{5, 2, 16, 57344, ElementType::kFloat8E5M2FNUZ},
    SmallFloat{2, 1, 1, 6, ElementType::kFloat4E2M1},
};

// Source: qonnx, compute_max_val of custom_op/general/floatquant.py: no code is set apart.
float GreatestOf(const SmallFloat& format) {
  const auto steps = std::ldexp(2.0, static_cast<int>(format.mantissa)) - 1;
  const std::int64_t power =
      (std::int64_t{1} << format.exponent) - 1 - format.bias - format.mantissa;
  return static_cast<float>(std::ldexp(steps, static_cast<int>(power)));
}

}  // namespace

Result<ElementType> SmallFloatOf(std::int64_t exponent, std::int64_t mantissa, std::int64_t bias,
                                 float max) {
  for (const SmallFloat& known : kSmallFloats) {
    if (exponent != known.exponent || mantissa != known.mantissa || bias != known.bias) continue;
    if (std::min(GreatestOf(known), max) == known.max) return known.storage;
  }
  return Error{ErrorCode::kUnsupported, "FloatQuant",
               "no element type has " + std::to_string(exponent) + " bits of exponent, " +
                   std::to_string(mantissa) + " of mantissa, bias " + std::to_string(bias) +
                   " and greatest value " + format::HexFloat(max)};
}

}  // namespace qtx::convert
