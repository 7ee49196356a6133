// Where each element of an output comes from, for operators that only move data.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "qtx/format/result.h"
#include "qtx/format/shape.h"

namespace qtx::backend::engine {

/// Elements of a part of a tensor's dims.
inline std::int64_t Product(std::span<const std::int64_t> dims) {
  return *format::ElementCount(dims);
}

/// The rows of a tensor along an axis: `length` elements, `stride` apart.
struct AxisRows {
  std::int64_t outer = 1, length = 1, stride = 1;

  std::int64_t count() const { return outer * stride; }
  /// The first element of row `row`, in a tensor whose rows have `elements` elements.
  std::int64_t First(std::int64_t row, std::int64_t elements) const {
    return row / stride * elements * stride + row % stride;
  }
  std::int64_t First(std::int64_t row) const { return First(row, length); }
};
/// Rows along `axis` or, if they run to the end of the tensor, over it and all axes after it.
AxisRows RowsOf(const format::Dims& dims, std::size_t axis, bool to_end = false);

/// Multidirectional broadcast of two shapes.  REQUIRES: they do.
format::Dims BroadcastDims(const format::Dims& a, const format::Dims& b);

/// For each element of `to`, row-major, the element at start + sum of coordinate * stride.
std::vector<std::int64_t> StridedIndex(std::span<const std::int64_t> to,
                                       std::span<const std::int64_t> strides,
                                       std::int64_t start = 0);

/// For each element of `to`, the element of `from` that broadcasts to it.
/// REQUIRES: `from` broadcasts to `to`.
std::vector<std::int64_t> BroadcastIndex(const format::Dims& from, const format::Dims& to);

}  // namespace qtx::backend::engine
