// Transposes and strided copies of elements of 1, 2, 4 or 8 bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/buffer.h"
#include "qtx/format/shape.h"

namespace qtx::backend::engine {

/// A matrix [rows][columns], its rows `stride` elements apart.
struct StridedMatrix {
  std::int64_t rows = 0, columns = 0, stride = 0;
};

/// to[c * to_stride + r] = from[r * from.stride + c], elements of `size` bytes.
void TransposeMatrix(const std::byte* source, const StridedMatrix& from, std::size_t size,
                     std::byte* to, std::int64_t to_stride);

/// Distance in memory, in elements, of neighbours along each of the dims.
format::Dims StridesOf(const format::Dims& dims, Layout layout);

/// Copies the elements at all coordinates of `dims` from one nest of strides to another.
class StridedCopy {
 public:
  /// Strides in elements; one of `from` may be 0 or negative. No two coordinates share a place of
  /// `to`.
  StridedCopy(const format::Dims& dims, const format::Dims& from, const format::Dims& to);
  void Run(const std::byte* from, std::byte* to, std::size_t size) const;

 private:
  struct Axis {
    std::int64_t count = 1, from = 0, to = 0;
  };
  template <typename Visit>
  void ForEach(std::size_t inner, Visit visit) const;
  template <typename T>
  void RunElements(const T* from, T* to) const;

  std::vector<Axis> axes_;  // the one with the smallest stride of `to` last
  bool empty_ = false, runs_ = false, transposes_ = false;
};

}  // namespace qtx::backend::engine
