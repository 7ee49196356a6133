// Conv as inner products: for a block of output positions the taps are packed as columns (im2col,
// one block at a time so that it stays in cache), then every panel of filters is multiplied with
// it.
#include <algorithm>
#include <utility>

#include "engine/ops/conv.h"

namespace qtx::backend::engine {
namespace {

constexpr std::int64_t kBlockBytes = std::int64_t{256}
                                     << 10;  // of packed columns: half a small L2 cache

template <typename T>
const GemmKernel<T>& KernelOf(const Kernels& kernels) {
  if constexpr (sizeof(T) == 1) {
    return kernels.narrow;
  } else {
    return kernels.wide;
  }
}

template <typename T>
class GemmConv : public Step {
 public:
  GemmConv(ConvPlan plan, Requantizer requantizer, T padding, std::int64_t largest_product)
      : plan_(std::move(plan)),
        requantizer_(std::move(requantizer)),
        kernel_(KernelOf<T>(*plan_.kernels)),
        safe_groups_(SafeGroups(kernel_.group, largest_product)),
        planes_(plan_, plan_.GroupChannels(), padding),
        tap_offsets_(plan_.TapOffsets()),
        filters_(static_cast<std::size_t>(plan_.groups)) {
    PackFilters();
    const std::int64_t column_bytes = plan_.Depth() * static_cast<std::int64_t>(sizeof(T));
    const std::int64_t panels =
        std::max<std::int64_t>(1, kBlockBytes / (column_bytes * kernel_.columns));
    block_ = std::min(panels * kernel_.columns, plan_.Positions());
    const std::int64_t padded = (block_ + kernel_.columns - 1) / kernel_.columns * kernel_.columns;
    rows_.assign(static_cast<std::size_t>(kernel_.group * padded), T{0});
    zeros_.assign(static_cast<std::size_t>(padded), T{0});
  }

  Result<void> Run() override {
    const std::int64_t input = plan_.GroupChannels() * plan_.window.y.in * plan_.window.x.in;
    const std::uint8_t* stored = Bytes(plan_.x.value->tensor);
    for (std::int64_t n = 0; n < plan_.batch; ++n) {
      for (std::int64_t group = 0; group < plan_.groups; ++group, stored += input) {
        planes_.Load(plan_, kernel_, stored);
        for (std::int64_t first = 0; first < plan_.Positions(); first += block_) {
          RunBlock(n, group, first, std::min(block_, plan_.Positions() - first));
        }
      }
    }
    return {};
  }

 private:
  void PackFilters() {
    const std::int64_t depth = plan_.Depth();
    for (std::int64_t group = 0; group < plan_.groups; ++group) {
      PackedRows<T>& packed = filters_[static_cast<std::size_t>(group)];
      packed.Reset(kernel_, plan_.GroupFilters(), depth);
      for (std::int64_t m = 0; m < plan_.GroupFilters(); ++m) {
        const std::int64_t filter = group * plan_.GroupFilters() + m;
        for (std::int64_t k = 0; k < depth; ++k) {
          const auto index = static_cast<std::size_t>(filter * depth + k);
          packed.At(m, k) = static_cast<T>(plan_.weights.values[index]);
        }
      }
    }
  }

  void RunBlock(std::int64_t n, std::int64_t group, std::int64_t first, std::int64_t count) {
    columns_.Reset(kernel_, count, plan_.Depth());
    const T* pointers[8] = {};
    for (std::int64_t index = 0; index < columns_.groups; ++index) {
      for (int g = 0; g < kernel_.group; ++g)
        pointers[g] = TapRow(index * kernel_.group + g, g, first, count);
      columns_.PackGroup(kernel_, index, pointers);
    }
    const PackedRows<T>& filters = filters_[static_cast<std::size_t>(group)];
    for (std::int64_t m = 0; m < filters.rows; m += filters.max_rows) {
      sums_.Multiply(kernel_, filters, m, columns_, safe_groups_);
      for (int r = 0; r < sums_.rows(); ++r) {
        const std::int64_t filter = group * plan_.GroupFilters() + m + r;
        const std::int64_t element = (n * plan_.filters + filter) * plan_.Positions() + first;
        sums_.Store(requantizer_, r, count, filter, 0, element, plan_.y->tensor.bytes.data());
      }
    }
  }

  // Tap k of output positions first..first+count; may read on to a multiple of the kernel's
  // columns.
  const T* TapRow(std::int64_t k, int g, std::int64_t first, std::int64_t count) {
    if (k >= plan_.Depth()) return zeros_.data();
    const WindowAxis& y = plan_.window.y;
    const WindowAxis& x = plan_.window.x;
    const T* tap = planes_.data() + tap_offsets_[static_cast<std::size_t>(k)];
    // Positions follow each other in memory: nothing to gather (every plain 1x1 convolution).
    if (y.stride == 1 && x.stride == 1 && x.out == x.padded()) return tap + first;
    T* out = rows_.data() + g * static_cast<std::int64_t>(zeros_.size());
    T* const row = out;
    std::int64_t oy = first / x.out;
    std::int64_t ox = first % x.out;
    while (count > 0) {
      const std::int64_t run = std::min(x.out - ox, count);
      const T* from = tap + oy * y.stride * x.padded() + ox * x.stride;
      if (x.stride == 1) {
        std::copy(from, from + run, out);
      } else {
        for (std::int64_t i = 0; i < run; ++i) out[i] = from[i * x.stride];
      }
      out += run;
      count -= run;
      ox = 0;
      ++oy;
    }
    return row;
  }

  ConvPlan plan_;
  Requantizer requantizer_;
  const GemmKernel<T>& kernel_;
  std::int64_t safe_groups_;
  std::int64_t block_ = 0;
  PaddedPlanes<T> planes_;
  std::vector<std::int64_t> tap_offsets_;
  std::vector<PackedRows<T>> filters_;
  std::vector<T> rows_, zeros_;
  PackedColumns<T> columns_;
  PanelSums sums_;
};

}  // namespace

std::unique_ptr<Step> MakeGemmConv(ConvPlan plan, Requantizer requantizer) {
  const std::int64_t largest =
      static_cast<std::int64_t>(plan.x.LargestMagnitude()) * plan.weights.largest;
  return std::make_unique<GemmConv<std::int16_t>>(std::move(plan), std::move(requantizer),
                                                  std::int16_t{0}, largest);
}

std::unique_ptr<Step> MakeNarrowGemmConv(ConvPlan plan, Requantizer requantizer) {
  const auto zero = static_cast<std::int8_t>(plan.x.type.offset - (plan.x.is_signed ? 0 : 128));
  return std::make_unique<GemmConv<std::int8_t>>(std::move(plan), std::move(requantizer), zero,
                                                 std::int64_t{128} * 128);
}

}  // namespace qtx::backend::engine
