#include "engine/transpose.h"

#include <algorithm>
#include <cstring>

namespace qtx::backend::engine {
namespace {

constexpr std::int64_t kSquare = 16;

using Line = std::uint8_t __attribute__((vector_size(kSquare)));

// A square of 16 x 16 bytes. Four times rows i and i + 8 are interleaved: each time the bits of an
// element's place (row, column) move up by one, so that row and column have changed places.
void TransposeSquare(const std::uint8_t* from, std::int64_t from_stride, std::uint8_t* to,
                     std::int64_t to_stride) {
  Line a[kSquare];
  Line b[kSquare];
  for (int i = 0; i < kSquare; ++i) std::memcpy(&a[i], from + i * from_stride, kSquare);
  for (int pass = 0; pass < 4; ++pass) {
    for (int i = 0; i < kSquare / 2; ++i) {
      b[2 * i] = __builtin_shufflevector(a[i], a[i + 8], 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21,
                                         6, 22, 7, 23);
      b[2 * i + 1] = __builtin_shufflevector(a[i], a[i + 8], 8, 24, 9, 25, 10, 26, 11, 27, 12, 28,
                                             13, 29, 14, 30, 15, 31);
    }
    std::copy_n(b, kSquare, a);
  }
  for (int i = 0; i < kSquare; ++i) std::memcpy(to + i * to_stride, &a[i], kSquare);
}

// The same of 4 x 4 elements of 4 bytes: each pass moves one bit.
void TransposeSquare(const std::uint32_t* from, std::int64_t from_stride, std::uint32_t* to,
                     std::int64_t to_stride) {
  using Four = std::uint32_t __attribute__((vector_size(16)));
  Four a[4];
  Four b[4];
  for (int i = 0; i < 4; ++i) std::memcpy(&a[i], from + i * from_stride, sizeof(Four));
  for (int pass = 0; pass < 2; ++pass) {
    for (int i = 0; i < 2; ++i) {
      b[i + i] = __builtin_shufflevector(a[i], a[i + 2], 0, 4, 1, 5);
      b[i + i + 1] = __builtin_shufflevector(a[i], a[i + 2], 2, 6, 3, 7);
    }
    std::copy_n(b, 4, a);
  }
  for (int i = 0; i < 4; ++i) std::memcpy(to + i * to_stride, &a[i], sizeof(Four));
}

template <typename T>
void TransposePart(const T* from, std::int64_t from_stride, std::int64_t rows, std::int64_t columns,
                   T* to, std::int64_t to_stride) {
  for (std::int64_t c = 0; c < columns; ++c) {
    for (std::int64_t r = 0; r < rows; ++r) to[c * to_stride + r] = from[r * from_stride + c];
  }
}

// Elements of a square that is transposed in registers; 0: there is none.
template <typename T>
constexpr std::int64_t kSide = sizeof(T) == 1   ? kSquare
                               : sizeof(T) == 4 ? 4
                                                : 0;

// One square of the first-level cache, at most kSquare a side.
template <typename T>
void TransposeBlock(const T* from, std::int64_t from_stride, std::int64_t rows,
                    std::int64_t columns, T* to, std::int64_t to_stride) {
  std::int64_t whole_rows = 0;
  std::int64_t whole_columns = 0;
  if constexpr (kSide<T> != 0) {
    whole_rows = rows / kSide<T> * kSide<T>;
    whole_columns = columns / kSide<T> * kSide<T>;
    for (std::int64_t r = 0; r < whole_rows; r += kSide<T>) {
      for (std::int64_t c = 0; c < whole_columns; c += kSide<T>) {
        TransposeSquare(from + r * from_stride + c, from_stride, to + c * to_stride + r, to_stride);
      }
    }
  }
  TransposePart(from + whole_columns, from_stride, whole_rows, columns - whole_columns,
                to + whole_columns * to_stride, to_stride);
  TransposePart(from + whole_rows * from_stride, from_stride, rows - whole_rows, columns,
                to + whole_rows, to_stride);
}

// In squares that stay in the first-level cache.
template <typename T>
void Transpose(const T* source, const StridedMatrix& from, T* to, std::int64_t to_stride) {
  for (std::int64_t r = 0; r < from.rows; r += kSquare) {
    const std::int64_t rows = std::min(kSquare, from.rows - r);
    for (std::int64_t c = 0; c < from.columns; c += kSquare) {
      const std::int64_t columns = std::min(kSquare, from.columns - c);
      TransposeBlock(source + r * from.stride + c, from.stride, rows, columns,
                     to + c * to_stride + r, to_stride);
    }
  }
}

// Calls visit with pointers to elements of an unsigned type of `size` bytes.
template <typename Visit>
void AsElements(const std::byte* from, std::byte* to, std::size_t size, Visit visit) {
  const auto as = [&]<typename T>(T) {
    visit(reinterpret_cast<const T*>(from), reinterpret_cast<T*>(to));
  };
  if (size == 1) return as(std::uint8_t{});
  if (size == 2) return as(std::uint16_t{});
  if (size == 4) return as(std::uint32_t{});
  as(std::uint64_t{});
}

}  // namespace

void TransposeMatrix(const std::byte* source, const StridedMatrix& from, std::size_t size,
                     std::byte* to, std::int64_t to_stride) {
  AsElements(source, to, size,
             [&](const auto* elements, auto* out) { Transpose(elements, from, out, to_stride); });
}

format::Dims StridesOf(const format::Dims& dims, Layout layout) {
  if (layout == Layout::kRowMajor || dims.size() < 3) return format::RowMajorStrides(dims);
  format::Dims strides(dims.size());
  strides[1] = 1;
  std::int64_t next = dims[1];
  for (std::size_t d = dims.size(); d-- > 0;) {
    if (d == 1) continue;
    strides[d] = next;
    next *= dims[d];
  }
  return strides;
}

StridedCopy::StridedCopy(const format::Dims& dims, const format::Dims& from,
                         const format::Dims& to) {
  std::vector<Axis> axes;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    empty_ = empty_ || dims[d] == 0;
    if (dims[d] > 1) axes.push_back({dims[d], from[d], to[d]});
  }
  std::ranges::stable_sort(axes, std::ranges::greater(), &Axis::to);
  for (const Axis& axis : axes) {
    Axis* outer = axes_.empty() ? nullptr : &axes_.back();
    if (outer != nullptr && outer->from == axis.count * axis.from &&
        outer->to == axis.count * axis.to) {
      *outer = {outer->count * axis.count, axis.from, axis.to};
    } else {
      axes_.push_back(axis);
    }
  }
  if (axes_.empty()) axes_.push_back({1, 1, 1});
  runs_ = axes_.back().from == 1 && axes_.back().to == 1;
  if (runs_ || axes_.back().to != 1) return;
  // The axis along which `from` is contiguous comes next to the last: both are a transpose.
  const auto reads = std::ranges::find(axes_, std::int64_t{1}, &Axis::from);
  transposes_ = reads != axes_.end();
  if (transposes_) std::rotate(reads, reads + 1, axes_.end() - 1);
}

// Calls visit(first element of from, of to) at all coordinates of the axes but the last `inner`.
template <typename Visit>
void StridedCopy::ForEach(std::size_t inner, Visit visit) const {
  const std::size_t outer = axes_.size() - inner;
  std::vector<std::int64_t> at(outer, 0);
  std::int64_t from = 0;
  std::int64_t to = 0;
  while (true) {
    visit(from, to);
    std::size_t d = outer;
    while (d > 0) {
      const Axis& axis = axes_[--d];
      from += axis.from;
      to += axis.to;
      if (++at[d] < axis.count) break;
      from -= axis.from * axis.count;
      to -= axis.to * axis.count;
      at[d] = 0;
      if (d == 0) return;
    }
    if (outer == 0) return;
  }
}

template <typename T>
void StridedCopy::RunElements(const T* from, T* to) const {
  const Axis& last = axes_.back();
  if (runs_) {
    const auto bytes = static_cast<std::size_t>(last.count) * sizeof(T);
    return ForEach(1,
                   [&](std::int64_t f, std::int64_t t) { std::memcpy(to + t, from + f, bytes); });
  }
  if (transposes_) {
    const Axis& reads = axes_[axes_.size() - 2];
    const StridedMatrix matrix{last.count, reads.count, last.from};
    return ForEach(
        2, [&](std::int64_t f, std::int64_t t) { Transpose(from + f, matrix, to + t, reads.to); });
  }
  ForEach(1, [&](std::int64_t f, std::int64_t t) {
    for (std::int64_t i = 0; i < last.count; ++i) to[t + i * last.to] = from[f + i * last.from];
  });
}

void StridedCopy::Run(const std::byte* from, std::byte* to, std::size_t size) const {
  if (empty_) return;
  AsElements(from, to, size,
             [this](const auto* elements, auto* out) { RunElements(elements, out); });
}

}  // namespace qtx::backend::engine
