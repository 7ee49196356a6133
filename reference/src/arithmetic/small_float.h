// Codes of float8 and float4 types that are not quantized: IEEE-like conversion, with ONNX's two
// ways beyond the largest number.  Source: cast.S6, cast.S7.
#pragma once

#include <cstdint>

#include "qtx/format/element_type.h"

namespace qtx::reference {

/// How FLOAT8E8M0, which has only powers of two, is rounded: away from zero, toward zero, or to
/// the nearest with ties up.
enum class ScaleRounding { kUp, kDown, kNearest };

struct SmallFloatRule {
  bool saturate = true;  // beyond the largest: that, instead of an infinity or NaN
  ScaleRounding scale = ScaleRounding::kUp;
};

/// The code of `type` for `value`, a double or a real rounded to odd in binary64 (OddDouble).
/// REQUIRES: IsSmallFloat(type), not quantized.
std::uint32_t SmallFloatCode(format::ElementType type, double value, const SmallFloatRule& rule);

}  // namespace qtx::reference
