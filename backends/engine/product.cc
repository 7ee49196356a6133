#include "engine/product.h"

#include <algorithm>
#include <array>
#include <vector>

namespace qtx::backend::engine {
namespace {

constexpr std::int64_t kMostTileColumns = 64;  // 4 panels of 16 lanes
// Number of rows multiplied with one strip at a time: a multiple of every tile's rows, small enough
// for their sums to stay in the first-level cache.
constexpr std::int64_t kBlockRows = 24;
// Number of rows multiplied with all strips before the next rows: they stay in the second-level
// cache.
constexpr std::int64_t kPassRows = 10 * kBlockRows;
constexpr std::int64_t kTogetherBytes = 24 << 10;

// One thread's sums of a block of rows by a strip.
template <typename A, typename W, typename Results>
class BlockRunner {
 public:
  BlockRunner(const ProductKernels<A, W>& kernels, const PackedWeights<W>& weights,
              const Results& requantizer, const Target& target)
      : kernels_(kernels), weights_(weights), requantizer_(requantizer), target_(target) {}

  // Rows first..last by all strips.
  void Run(const Rows<A>& rows, std::int64_t first, std::int64_t last,
           std::span<const Strip> strips) {
    for (std::int64_t r = first; r < last; r += kBlockRows) {
      const std::int64_t count = std::min(kBlockRows, last - r);
      for (std::int64_t i = 0; i < count; ++i) {
        pointers_[static_cast<std::size_t>(i)] =
            rows.base + rows.offsets[static_cast<std::size_t>(r + i)];
      }
      for (const Strip& strip : strips) {
        if (strip.wide) {
          SumWide(strip, count);
          StoreWide(strip, r, count);
        } else {
          Sum(strip, count);
          Store(strip, r, count);
        }
      }
    }
  }

 private:
  // One chunk after another, so that its panels stay in the second-level cache for all rows.
  void Sum(const Strip& strip, std::int64_t count) {
    bool first = true;
    for (const Chunk& chunk : weights_.chunks(strip)) {
      SumChunk(strip, chunk, count, first);
      first = false;
    }
  }

  void Store(const Strip& strip, std::int64_t row, std::int64_t count) {
    requantizer_.Convert({.acc = sums_.data(),
                          .stride = kMostTileColumns,
                          .rows = count,
                          .columns = strip.columns,
                          .channel = target_.channel + strip.column,
                          .element = Element(strip, row),
                          .out_stride = target_.stride},
                         target_.data);
  }

  void SumWide(const Strip& strip, std::int64_t count) {
    wide_sums_.resize(static_cast<std::size_t>(kBlockRows * kMostTileColumns));
    for (std::int64_t r = 0; r < count; ++r) {
      std::copy_n(weights_.wide_initial(strip), strip.columns,
                  wide_sums_.begin() + r * kMostTileColumns);
    }
    for (const Chunk& chunk : weights_.chunks(strip)) {
      SumChunk(strip, chunk, count, true);
      for (std::int64_t r = 0; r < count; ++r) {
        for (std::int64_t c = 0; c < strip.columns; ++c) {
          const auto i = static_cast<std::size_t>(r * kMostTileColumns + c);
          wide_sums_[i] += sums_[i];
        }
      }
    }
  }

  void StoreWide(const Strip& strip, std::int64_t row, std::int64_t count) {
    for (std::int64_t r = 0; r < count; ++r) {
      for (std::int64_t c = 0; c < strip.columns; ++c) {
        requantizer_.Single(wide_sums_[static_cast<std::size_t>(r * kMostTileColumns + c)],
                            target_.channel + strip.column + c, Element(strip, row + r) + c,
                            target_.data);
      }
    }
  }

  // Divides the rows into tiles of nearly equal size. `fresh`: the sums begin with the strip's
  // initial values, otherwise with the sums of the chunks before.
  void SumChunk(const Strip& strip, const Chunk& chunk, std::int64_t count, bool fresh) {
    const std::span<const Segment> segments = weights_.segments(chunk);
    const std::int64_t most = most_rows_[static_cast<std::size_t>(strip.vectors - 1)];
    const std::int64_t tiles = (count + most - 1) / most;
    for (std::int64_t t = 0; t < tiles; ++t) {
      const std::int64_t begin = count * t / tiles;
      const std::int64_t rows = count * (t + 1) / tiles - begin;
      std::int32_t* sums = sums_.data() + begin * kMostTileColumns;
      kernels_.tile[strip.vectors - 1][rows - 1](
          {.rows = pointers_.data() + begin,
           .segments = segments.data(),
           .segment_count = static_cast<std::int64_t>(segments.size()),
           .panels = weights_.panels(strip) + chunk.panel_offset,
           .panel_stride = strip.panel_stride,
           .initial = fresh ? weights_.initial(strip) : sums,
           .initial_stride = fresh ? 0 : kMostTileColumns,
           .sums = sums,
           .stride = kMostTileColumns});
    }
  }

  std::int64_t Element(const Strip& strip, std::int64_t row) const {
    return target_.first + row * target_.stride + strip.column;
  }

  const ProductKernels<A, W>& kernels_;
  const PackedWeights<W>& weights_;
  const Results& requantizer_;
  const Target& target_;
  const std::array<std::int64_t, kMaxVectors> most_rows_{kernels_.MaxRows(1), kernels_.MaxRows(2),
                                                         kernels_.MaxRows(3), kernels_.MaxRows(4)};
  std::array<const A*, kBlockRows> pointers_;
  alignas(64) std::array<std::int32_t, kBlockRows * kMostTileColumns> sums_;
  std::vector<std::int64_t> wide_sums_;
};

}  // namespace

void RowScaling::Convert(const Requantizer::Block& block, std::byte* out) const {
  for (std::int64_t r = 0; r < block.rows; ++r) {
    const std::int64_t element = block.element + r * block.out_stride;
    const float step = steps[static_cast<std::size_t>(element / columns)];
    const std::int32_t* sums = block.acc + r * block.stride;
    float* y = reinterpret_cast<float*>(out) + element;
    for (std::int64_t c = 0; c < block.columns; ++c) y[c] = static_cast<float>(sums[c]) * step;
    if (bias == nullptr) continue;
    const float* addend = bias + block.channel;
    for (std::int64_t c = 0; c < block.columns; ++c) y[c] += addend[c];
  }
}

void RowScaling::Single(std::int64_t acc, std::int64_t channel, std::int64_t element,
                        std::byte* out) const {
  const float step = steps[static_cast<std::size_t>(element / columns)];
  const float scaled = static_cast<float>(acc) * step;
  reinterpret_cast<float*>(out)[element] = bias == nullptr ? scaled : scaled + bias[channel];
}

template <typename A, typename W, typename Results>
void Multiply(const ProductKernels<A, W>& kernels, const PackedWeights<W>& weights,
              const Rows<A>& rows, const Results& requantizer, const Target& target,
              Threads& threads) {
  const auto count = static_cast<std::int64_t>(rows.offsets.size());
  const std::span<const Strip> strips = weights.strips();
  // Weights that fit the first-level cache are multiplied with one block of rows at a time, others
  // strip by strip with many rows.
  const bool together = weights.bytes() <= kTogetherBytes;
  const std::int64_t parts = together ? 1 : static_cast<std::int64_t>(strips.size());
  std::int64_t passes = (count + kPassRows - 1) / kPassRows;
  // Enough pieces for all threads to finish together.
  if (threads.count() > 1) {
    passes = std::max(passes, std::min(count, (4 * threads.count() + parts - 1) / parts));
  }
  constexpr std::int64_t kProductsPerNanosecond = 200;  // of one thread, roughly
  const std::int64_t products = count * weights.work() * kernels.lanes * kernels.group;
  threads.For(passes * parts, products / kProductsPerNanosecond, [&](std::int64_t i) {
    const std::int64_t pass = i / parts;
    BlockRunner<A, W, Results>(kernels, weights, requantizer, target)
        .Run(rows, count * pass / passes, count * (pass + 1) / passes,
             together ? strips : strips.subspan(static_cast<std::size_t>(i % parts), 1));
  });
}

template void Multiply(const ProductKernels<std::uint8_t, std::int8_t>&,
                       const PackedWeights<std::int8_t>&, const Rows<std::uint8_t>&,
                       const Requantizer&, const Target&, Threads&);
template void Multiply(const ProductKernels<std::uint8_t, std::int8_t>&,
                       const PackedWeights<std::int8_t>&, const Rows<std::uint8_t>&,
                       const RowScaling&, const Target&, Threads&);
template void Multiply(const ProductKernels<std::int16_t, std::int16_t>&,
                       const PackedWeights<std::int16_t>&, const Rows<std::int16_t>&,
                       const Requantizer&, const Target&, Threads&);

}  // namespace qtx::backend::engine
