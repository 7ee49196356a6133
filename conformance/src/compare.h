// Distances between the elements of two tensors, for pictures of a difference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "qtx/conformance/diagnosis.h"
#include "qtx/format/tensor.h"

namespace qtx::conformance {

/// One element that is not the same in both.
struct ElementDistance {
  std::size_t index = 0;                 // row-major
  std::optional<std::int64_t> distance;  // got - expected, in LSB or ulp, saturated; nullopt where
                                         // one of the two is NaN
  bool allowed = false;                  // within the tolerance
};

/// The elements that differ, in order, those that `tolerance` allows too.
/// nullopt when they cannot be compared element by element: type, dims or byte count disagree, or
/// the type has no order.
std::optional<std::vector<ElementDistance>> Distances(const format::Tensor& got,
                                                      const format::Tensor& expected,
                                                      const Tolerance& tolerance);

}  // namespace qtx::conformance
