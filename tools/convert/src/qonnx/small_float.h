// The float formats that FloatQuant describes by its bits.
#pragma once

#include <cstdint>

#include "qtx/format/element_type.h"
#include "qtx/format/result.h"

namespace qtx::convert {

/// The storage type with so many bits of exponent and mantissa, this bias, and whose greatest
/// finite value is the least of `max` and what the bits hold when no code is set apart.
/// Errors: kUnsupported when there is none.
Result<format::ElementType> SmallFloatOf(std::int64_t exponent, std::int64_t mantissa,
                                         std::int64_t bias, float max);

}  // namespace qtx::convert
