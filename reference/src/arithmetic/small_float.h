// Codes of the floats of at most 16 bits. Source: exact.S5, exact.S8, cast.S9, cast.S10.
#pragma once

#include <cstdint>

#include "qtx/reference/op.h"

namespace qtx::reference {

/// The code of `storage` for a real given rounded to odd in binary64, or for an infinity or NaN.
/// REQUIRES: format::IsSmallFloat(storage).
std::int32_t SmallFloatCode(format::ElementType storage, double odd, const SmallFloatRule& rule);

/// The code nearest to a value rounded to odd in binary64; beyond the midpoint above the largest
/// finite one it is an infinity, as IEEE 754 has it.  REQUIRES: format::IsHalf(type).
std::int32_t HalfCode(format::ElementType type, double odd);

/// `value` rounded to the type of reals, FLOAT, FLOAT16 or BFLOAT16.  Source: quantization.S13.
float InRealType(format::ElementType type, float value);

}  // namespace qtx::reference
