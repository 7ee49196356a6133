#include "engine/product.h"

#include <algorithm>
#include <array>

namespace qtx::backend::engine {
namespace {

// Rows of a block stay in the second cache while all strips pass over them.
constexpr std::int64_t kBlockRows = 240;       // a multiple of every tile's rows
constexpr std::int64_t kMostTileColumns = 64;  // 4 panels of 16 lanes

// One thread's sums of one tile.
template <typename A, typename W>
class TileRunner {
 public:
  TileRunner(const ProductKernels<A, W>& kernels, const PackedWeights<W>& weights,
             const Requantizer& requantizer, const Target& target)
      : kernels_(kernels), weights_(weights), requantizer_(requantizer), target_(target) {}

  // Rows first..last of `rows` by one strip, in tiles as equal as can be.
  void Run(const Rows<A>& rows, std::int64_t first, std::int64_t last, const Strip& strip) {
    const std::int64_t most = kernels_.MaxRows(strip.vectors);
    const std::int64_t tiles = (last - first + most - 1) / most;
    for (std::int64_t t = 0; t < tiles; ++t) {
      const std::int64_t begin = first + (last - first) * t / tiles;
      const std::int64_t end = first + (last - first) * (t + 1) / tiles;
      for (std::int64_t r = begin; r < end; ++r) {
        pointers_[static_cast<std::size_t>(r - begin)] =
            rows.base + rows.offsets[static_cast<std::size_t>(r)];
      }
      RunTile(strip, begin, end - begin);
    }
  }

 private:
  void RunTile(const Strip& strip, std::int64_t row, std::int64_t count) {
    if (strip.wide) return RunChunks(strip, row, count);
    Sum(strip, weights_.chunks(strip)[0], count);
    requantizer_.Convert({.acc = sums_.data(),
                          .stride = kMostTileColumns,
                          .rows = count,
                          .columns = strip.columns,
                          .channel = target_.channel + strip.column,
                          .element = Element(strip, row),
                          .out_stride = target_.stride},
                         target_.data);
  }

  void RunChunks(const Strip& strip, std::int64_t row, std::int64_t count) {
    std::array<std::int64_t, kMaxRows * kMostTileColumns> totals;
    for (std::int64_t r = 0; r < count; ++r) {
      std::copy_n(weights_.wide_initial(strip), strip.columns,
                  totals.begin() + r * kMostTileColumns);
    }
    for (const Chunk& chunk : weights_.chunks(strip)) {
      Sum(strip, chunk, count);
      for (std::int64_t r = 0; r < count; ++r) {
        for (std::int64_t c = 0; c < strip.columns; ++c) {
          const auto i = static_cast<std::size_t>(r * kMostTileColumns + c);
          totals[i] += sums_[i];
        }
      }
    }
    for (std::int64_t r = 0; r < count; ++r) {
      for (std::int64_t c = 0; c < strip.columns; ++c) {
        requantizer_.Single(totals[static_cast<std::size_t>(r * kMostTileColumns + c)],
                            target_.channel + strip.column + c, Element(strip, row + r) + c,
                            target_.data);
      }
    }
  }

  void Sum(const Strip& strip, const Chunk& chunk, std::int64_t count) {
    const std::span<const Segment> segments = weights_.segments(chunk);
    kernels_.tile[strip.vectors - 1][count - 1](
        {.rows = pointers_.data(),
         .segments = segments.data(),
         .segment_count = static_cast<std::int64_t>(segments.size()),
         .panels = weights_.panels(strip) + chunk.panel_offset,
         .panel_stride = strip.panel_stride,
         .initial = weights_.initial(strip),
         .sums = sums_.data(),
         .stride = kMostTileColumns});
  }

  std::int64_t Element(const Strip& strip, std::int64_t row) const {
    return target_.first + row * target_.stride + strip.column;
  }

  const ProductKernels<A, W>& kernels_;
  const PackedWeights<W>& weights_;
  const Requantizer& requantizer_;
  const Target& target_;
  std::array<const A*, kMaxRows> pointers_;
  alignas(64) std::array<std::int32_t, kMaxRows * kMostTileColumns> sums_;
};

}  // namespace

template <typename A, typename W>
void Multiply(const ProductKernels<A, W>& kernels, const PackedWeights<W>& weights,
              const Rows<A>& rows, const Requantizer& requantizer, const Target& target,
              Threads& threads) {
  const auto count = static_cast<std::int64_t>(rows.offsets.size());
  const auto strips = static_cast<std::int64_t>(weights.strips().size());
  std::int64_t blocks = (count + kBlockRows - 1) / kBlockRows;
  // Enough pieces for all threads to finish together.
  if (threads.count() > 1)
    blocks = std::max(blocks, std::min(count, (4 * threads.count() + strips - 1) / strips));
  threads.For(blocks * strips, [&](std::int64_t i) {
    const std::int64_t block = i / strips;
    TileRunner<A, W>(kernels, weights, requantizer, target)
        .Run(rows, count * block / blocks, count * (block + 1) / blocks,
             weights.strips()[static_cast<std::size_t>(i % strips)]);
  });
}

template void Multiply(const ProductKernels<std::uint8_t, std::int8_t>&,
                       const PackedWeights<std::int8_t>&, const Rows<std::uint8_t>&,
                       const Requantizer&, const Target&, Threads&);
template void Multiply(const ProductKernels<std::int16_t, std::int16_t>&,
                       const PackedWeights<std::int16_t>&, const Rows<std::int16_t>&,
                       const Requantizer&, const Target&, Threads&);

}  // namespace qtx::backend::engine
