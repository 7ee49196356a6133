// Conv with one input channel a group: each output plane is a sum of shifted input planes.
#include <algorithm>
#include <utility>

#include "engine/ops/conv.h"

namespace qtx::backend::engine {
namespace {

class DepthwiseConv : public Step {
 public:
  DepthwiseConv(ConvPlan plan, Requantizer requantizer)
      : plan_(std::move(plan)),
        requantizer_(std::move(requantizer)),
        plane_(plan_, 1, 0),
        tap_offsets_(plan_.TapOffsets()),
        taps_(tap_offsets_.size()),
        // Rows of a stride-1 plane are computed in one run, padding between them included.
        sums_(static_cast<std::size_t>(plan_.window.y.out *
                                       std::max(plan_.window.x.out, plan_.window.x.padded()))) {}

  Result<void> Run() override {
    const std::int64_t input_plane = plan_.window.y.in * plan_.window.x.in;
    const std::uint8_t* stored = Bytes(plan_.x.value->tensor);
    std::int64_t element = 0;
    for (std::int64_t n = 0; n < plan_.batch; ++n) {
      for (std::int64_t c = 0; c < plan_.channels; ++c, stored += input_plane) {
        plane_.Load(plan_, plan_.kernels->wide, stored);
        for (std::int64_t m = 0; m < plan_.GroupFilters(); ++m) {
          const std::int64_t filter = c * plan_.GroupFilters() + m;
          Sum(filter);
          requantizer_.Row(sums_.data(), plan_.Positions(), filter, element,
                           plan_.y->tensor.bytes.data());
          element += plan_.Positions();
        }
      }
    }
    return {};
  }

 private:
  void SumRun(std::int64_t filter, std::int64_t first, std::int64_t n, std::int32_t* out) {
    for (std::size_t t = 0; t < taps_.size(); ++t)
      taps_[t] = plane_.data() + tap_offsets_[t] + first;
    plan_.kernels->depthwise(
        taps_.data(), &plan_.weights.values[static_cast<std::size_t>(filter * plan_.Depth())],
        static_cast<int>(taps_.size()), n, plan_.window.x.stride, out);
  }

  void Sum(std::int64_t filter) {
    const WindowAxis& y = plan_.window.y;
    const WindowAxis& x = plan_.window.x;
    if (y.stride != 1 || x.stride != 1) {
      for (std::int64_t row = 0; row < y.out; ++row) {
        SumRun(filter, row * y.stride * x.padded(), x.out, sums_.data() + row * x.out);
      }
      return;
    }
    SumRun(filter, 0, (y.out - 1) * x.padded() + x.out, sums_.data());
    if (x.out == x.padded()) return;
    for (std::int64_t row = 1; row < y.out; ++row) {
      const std::int32_t* from = sums_.data() + row * x.padded();
      std::copy(from, from + x.out, sums_.data() + row * x.out);
    }
  }

  ConvPlan plan_;
  Requantizer requantizer_;
  PaddedPlanes<std::int16_t> plane_;
  std::vector<std::int64_t> tap_offsets_;
  std::vector<const std::int16_t*> taps_;
  std::vector<std::int32_t> sums_;
};

}  // namespace

std::unique_ptr<Step> MakeDepthwiseConv(ConvPlan plan, Requantizer requantizer) {
  return std::make_unique<DepthwiseConv>(std::move(plan), std::move(requantizer));
}

}  // namespace qtx::backend::engine
