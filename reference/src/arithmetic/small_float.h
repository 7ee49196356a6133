// Codes of the floats of at most 8 bits. Source: exact.S8, cast.S9, cast.S10.
#pragma once

#include <cstdint>

#include "qtx/reference/op.h"

namespace qtx::reference {

/// The code of `storage` for a real given rounded to odd in binary64, or for an infinity or NaN.
/// REQUIRES: format::IsSmallFloat(storage).
std::int32_t SmallFloatCode(format::ElementType storage, double odd, const SmallFloatRule& rule);

}  // namespace qtx::reference
