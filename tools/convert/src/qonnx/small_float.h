// Storage types for the float formats of FloatQuant.
#pragma once

#include <cstdint>

#include "qtx/format/element_type.h"
#include "qtx/format/result.h"

namespace qtx::convert {

/// The storage type with these bits of exponent and mantissa, this bias, and greatest finite value
/// min(`max`, the largest value of the bits without reserved codes).
/// Errors: kUnsupported when there is none.
Result<format::ElementType> SmallFloatOf(std::int64_t exponent, std::int64_t mantissa,
                                         std::int64_t bias, float max);

}  // namespace qtx::convert
