#include "engine/ops/indexing.h"

#include <algorithm>
#include <cassert>

namespace qtx::backend::engine {

AxisRows RowsOf(const format::Dims& dims, std::size_t axis, bool to_end) {
  AxisRows rows;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    const bool along = d == axis || (d > axis && to_end);
    (along ? rows.length : d < axis ? rows.outer : rows.stride) *= dims[d];
  }
  return rows;
}

format::Dims BroadcastDims(const format::Dims& a, const format::Dims& b) {
  const std::size_t rank = std::max(a.size(), b.size());
  format::Dims dims(rank, 1);
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t left = i < a.size() ? a[a.size() - 1 - i] : 1;
    const std::int64_t right = i < b.size() ? b[b.size() - 1 - i] : 1;
    assert(left == right || left == 1 || right == 1);
    dims[rank - 1 - i] = left == 1 ? right : left;
  }
  return dims;
}

std::vector<std::int64_t> StridedIndex(std::span<const std::int64_t> to,
                                       std::span<const std::int64_t> strides, std::int64_t start) {
  assert(to.size() == strides.size());
  if (std::ranges::find(to, 0) != to.end()) return {};  // others may be any size then
  std::vector<std::int64_t> index{start};
  // Each pass multiplies out one more dimension, outermost first, which leaves the list row-major.
  for (std::size_t d = 0; d < to.size(); ++d) {
    std::vector<std::int64_t> next;
    next.reserve(index.size() * static_cast<std::size_t>(to[d]));
    for (const std::int64_t base : index) {
      for (std::int64_t c = 0; c < to[d]; ++c) next.push_back(base + c * strides[d]);
    }
    index = std::move(next);
  }
  return index;
}

std::vector<std::int64_t> BroadcastIndex(const format::Dims& from, const format::Dims& to) {
  const format::Dims own = format::RowMajorStrides(from);
  format::Dims strides(to.size(), 0);
  const std::size_t skipped = to.size() - from.size();
  for (std::size_t d = 0; d < from.size(); ++d) {
    if (from[d] != 1) strides[skipped + d] = own[d];
  }
  return StridedIndex(to, strides);
}

}  // namespace qtx::backend::engine
