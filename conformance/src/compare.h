// Distances between the elements of two tensors, for pictures of a difference.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "qtx/format/tensor.h"

namespace qtx::conformance {

/// The distance of an element where one of the two is NaN and the other is not.
inline constexpr std::int64_t kNoDistance = std::numeric_limits<std::int64_t>::min();

/// got - expected of each element: integers in LSB, floats in ulp, saturated to 64 bits.
/// nullopt when they cannot be compared element by element: type, dims or byte count disagree, or
/// the type has no order.
std::optional<std::vector<std::int64_t>> Distances(const format::Tensor& got,
                                                   const format::Tensor& expected);

}  // namespace qtx::conformance
