// Distances between the elements of two tensors, for the pictures of a report.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "digest.h"
#include "qtx/conformance/case.h"
#include "qtx/conformance/diagnosis.h"
#include "qtx/format/tensor.h"

namespace qtx::conformance {

/// One differing element.
struct ElementDistance {
  std::size_t index = 0;                 // row-major
  std::optional<std::int64_t> distance;  // got - expected, in LSB or ulp, saturated; nullopt where
                                         // one of the two is NaN
  bool allowed = false;                  // within the tolerance
};

/// The differing elements in order, including those within `tolerance`. nullopt when they cannot be
/// compared element by element: type, dims or byte count disagree, or the type has no order.
std::optional<std::vector<ElementDistance>> Distances(const format::Tensor& got,
                                                      const format::Tensor& expected,
                                                      const Tolerance& tolerance);

/// As Compare of diagnosis.h.
std::optional<Difference> CompareWithin(const std::string& output, const format::Tensor& got,
                                        const format::Tensor& expected, Tolerance tolerance);
Tolerance ToleranceOf(const Case& c);

/// Adds the elements such that tensors of one type and shape that Compare finds equal without
/// tolerance add the same.
void AddElements(const format::Tensor& tensor, Digest& digest);

}  // namespace qtx::conformance
