// Weights in the layout of the product kernels: strips of columns, each a list of segments with its
// panels. A group of weights that the instruction set cannot multiply exactly at once is split over
// several segments.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "engine/buffer.h"
#include "engine/kernels.h"

namespace qtx::backend::engine {

/// Bounds on one weight of a panel, and on pairs of weights.
template <typename W>
struct WeightLimits {
  std::int32_t low = std::numeric_limits<W>::min();
  std::int32_t high = std::numeric_limits<W>::max();
  // Lower bound on the sum of a pair's negative weights, upper bound on that of its positive ones;
  // 0: none. With activations a >= 0, the sum of a pair of products is between a * (negative
  // weights) and a * (positive weights).
  std::int32_t pair_low = 0, pair_high = 0;

  /// The limits with which a group's sum fits int32 and a pair's sum is within [-pair_limit - 1,
  /// pair_limit] (pair_limit 0: any), for activations of magnitude up to `largest`, which are not
  /// negative if pairs are limited.
  static WeightLimits For(std::int64_t largest, int group, std::int32_t pair_limit);
};

/// Moves as much of one group's weights from `rest` to `out` as the limits allow. Returns true if
/// nothing is left in `rest`.
template <typename W>
bool TakeGroup(const WeightLimits<W>& limits, int group, std::int16_t* rest, W* out);

/// Consecutive elements of a row, multiplied with consecutive weights of a column.
struct Stretch {
  std::int32_t offset = 0;  // from the row's beginning, in elements
  std::int32_t length = 0;
};

/// The matrix to pack. Sums must not overflow for any activation in [activation_min,
/// activation_max]; `zero` is the activation that stands for real zero.
struct PackSource {
  const std::int16_t* values = nullptr;  // [columns][depth], stored - offset
  std::int64_t columns = 0;
  std::span<const Stretch> stretches;  // their lengths sum up to the depth
  std::int32_t activation_min = 0, activation_max = 0, zero = 0;
  std::span<const std::int32_t> addend;  // added to each column's sum; empty: none

  std::int64_t Depth() const;
};

/// A range of segments whose sums fit int32 and whose panels fit the second-level cache.
struct Chunk {
  std::size_t first_segment = 0, segment_count = 0;
  std::int64_t panel_offset = 0;
};

/// The columns of one tile.
struct Strip {
  std::int64_t column = 0;
  std::int64_t columns = 0;
  std::int64_t first = 0;  // number of the first column if every strip were padded to whole panels
  int vectors = 0;
  std::int64_t panels = 0;  // index of the first weight
  std::int64_t panel_stride = 0;
  std::size_t first_chunk = 0, chunk_count = 0;
  bool wide = false;  // its sums are added up in int64, chunk by chunk
};

template <typename W>
class PackedWeights {
 public:
  template <typename A>
  PackedWeights(const ProductKernels<A, W>& kernels, const PackSource& source);

  std::span<const Strip> strips() const { return strips_; }
  std::span<const Chunk> chunks(const Strip& strip) const {
    return std::span(chunks_).subspan(strip.first_chunk, strip.chunk_count);
  }
  std::span<const Segment> segments(const Chunk& chunk) const {
    return std::span(segments_).subspan(chunk.first_segment, chunk.segment_count);
  }
  const W* panels(const Strip& strip) const {
    return reinterpret_cast<const W*>(panels_.data()) + strip.panels;
  }
  /// Initial values of the sums of the strip's columns; zeros for wide sums.
  const std::int32_t* initial(const Strip& strip) const { return initial_.data() + strip.first; }
  /// Initial values of wide sums.
  const std::int64_t* wide_initial(const Strip& strip) const {
    return wide_initial_.data() + strip.first;
  }
  /// Size of all panels.
  std::int64_t bytes() const { return bytes_; }
  /// Number of multiplications of a group for one row: the sum, over all strips, of groups times
  /// vectors.
  std::int64_t work() const { return work_; }

 private:
  std::vector<Strip> strips_;
  std::vector<Chunk> chunks_;
  std::vector<Segment> segments_;
  std::vector<std::int32_t> initial_;
  std::vector<std::int64_t> wide_initial_;
  AlignedBuffer panels_;
  std::int64_t work_ = 0, bytes_ = 0;

  template <typename, typename>
  friend class Packer;
};

}  // namespace qtx::backend::engine
