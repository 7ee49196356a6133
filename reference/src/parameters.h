// Validity of quantization parameters: what the arithmetic relies on, so that no model can divide
// by zero or index past a vector.
#pragma once

#include <cstdint>
#include <span>

#include "qtx/format/quantization.h"
#include "qtx/format/result.h"

namespace qtx::reference {

/// More elements than this the reference does not compute with: it keeps 64-bit indices of them.
inline constexpr std::int64_t kMaxComputedElements = std::int64_t{1} << 28;

/// An initializer may have scales of 0 and below, and a code book.
enum class ParameterRole : std::uint8_t { kValue, kInitializer };

/// Errors: kInvalid unless every scale is finite and, but on an initializer, greater than 0, there
/// are as many scales as the axes and blocks of `dims` ask for, as many offsets or none,
/// quant_min <= quant_max, and a code book has a value for each code.
Result<void> CheckParameters(format::ElementType type, const format::Quantization& q,
                             std::span<const std::int64_t> dims,
                             ParameterRole of = ParameterRole::kValue);

/// The part of CheckParameters that needs no shape.
Result<void> CheckParameterValues(format::ElementType type, const format::Quantization& q,
                                  ParameterRole of = ParameterRole::kValue);

/// Errors: kTooLarge past kMaxComputedElements.
Result<void> CheckComputable(std::span<const std::int64_t> dims);

}  // namespace qtx::reference
