// Weights as the product kernels want them: strips of columns, each a list of segments with its
// panels. What the instruction set cannot multiply exactly in one go is split over several
// segments.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "engine/buffer.h"
#include "engine/kernels.h"

namespace qtx::backend::engine {

/// What one weight of a panel may be, and pairs of them.
template <typename W>
struct WeightLimits {
  std::int32_t low = std::numeric_limits<W>::min();
  std::int32_t high = std::numeric_limits<W>::max();
  // Of the sum of a pair's negative weights, and of its positive ones; 0: of no concern. With
  // activations a >= 0 a pair of products lies between a * (negative) and a * (positive weights).
  std::int32_t pair_low = 0, pair_high = 0;

  /// For activations of magnitude up to `largest`, not negative where pairs are limited, so that a
  /// group's sum fits int32 and a pair's sum [-pair_limit - 1, pair_limit] (0: unlimited).
  static WeightLimits For(std::int64_t largest, int group, std::int32_t pair_limit);
};

/// Writes the parts of one group's weights that an instruction takes; the rest stays in `rest`.
/// True: nothing is left.
template <typename W>
bool TakeGroup(const WeightLimits<W>& limits, int group, std::int16_t* rest, W* out);

/// Consecutive elements of a row that meet consecutive weights of a column.
struct Stretch {
  std::int32_t offset = 0;  // from the row's beginning, in elements
  std::int32_t length = 0;
};

/// The matrix to pack. Every product of an activation in [activation_min, activation_max] is
/// allowed for; `zero` is the activation that means real zero.
struct PackSource {
  const std::int16_t* values = nullptr;  // [columns][depth], stored - offset
  std::int64_t columns = 0;
  std::span<const Stretch> stretches;  // their lengths sum up to the depth
  std::int32_t activation_min = 0, activation_max = 0, zero = 0;
  std::span<const std::int32_t> addend;  // to each column's sum; empty: none

  std::int64_t Depth() const;
};

/// Segments whose sums fit int32 and whose panels fit the second cache, and where those begin in
/// the strip.
struct Chunk {
  std::size_t first_segment = 0, segment_count = 0;
  std::int64_t panel_offset = 0;
};

/// Columns that one tile takes.
struct Strip {
  std::int64_t column = 0;
  std::int64_t columns = 0;
  std::int64_t first = 0;  // the same column where every strip is padded to whole panels
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
  /// What the sums of the strip's columns begin with; zeros where they are wide.
  const std::int32_t* initial(const Strip& strip) const { return initial_.data() + strip.first; }
  /// The same for a strip of wide sums.
  const std::int64_t* wide_initial(const Strip& strip) const {
    return wide_initial_.data() + strip.first;
  }
  /// Of all panels.
  std::int64_t bytes() const { return bytes_; }
  /// Groups that all strips together multiply a row with, a strip of v vectors counting v times.
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
