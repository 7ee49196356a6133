// Conv: what its three implementations share.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/gemm.h"
#include "engine/plan.h"
#include "engine/weights.h"
#include "engine/window.h"

namespace qtx::backend::engine {

/// Shapes: x [batch, channels, in...], w [filters, channels / groups, kernel...].
struct ConvShape {
  std::int64_t batch = 0, channels = 0, filters = 0, groups = 1;
  std::vector<WindowAxis> axes;

  std::int64_t GroupChannels() const { return channels / groups; }
};
/// Errors: kInvalid when the dims of inputs 0 and 1 and the attributes do not fit each other.
Result<ConvShape> ConvShapeOf(const NodePlan& node);

/// A Conv of one or two axes ready to be given an implementation.
struct ConvPlan : ConvShape {
  Operand x;
  Value* y = nullptr;
  Window window;
  Weights weights;
  std::vector<Channel> outputs;
  const Kernels* kernels = nullptr;

  std::int64_t GroupFilters() const { return filters / groups; }
  std::int64_t Depth() const { return GroupChannels() * window.y.kernel * window.x.kernel; }
  std::int64_t Positions() const { return window.y.out * window.x.out; }
  std::int64_t PlaneSize() const { return window.y.padded() * window.x.padded(); }
  /// Distance of tap k (channel, ky, kx row-major) from the window's corner in padded planes.
  std::vector<std::int64_t> TapOffsets() const;
};

/// Channels of an input widened to kernel operands, with their padding around them.
template <typename T>
class PaddedPlanes {
 public:
  /// `padding` is real zero as an operand.
  PaddedPlanes(const ConvPlan& plan, std::int64_t channels, T padding)
      : channels_(channels),
        data_(static_cast<std::size_t>(channels * plan.PlaneSize() + kReadAhead), padding) {}

  /// Fills in `channels` planes from the stored bytes of as many.
  void Load(const ConvPlan& plan, const GemmKernel<T>& kernel, const std::uint8_t* stored) {
    const WindowAxis& y = plan.window.y;
    const WindowAxis& x = plan.window.x;
    const bool contiguous = x.padded() == x.in;
    const std::int64_t run = contiguous ? x.in * y.in : x.in;
    const std::int64_t runs = contiguous ? 1 : y.in;
    for (std::int64_t c = 0; c < channels_; ++c) {
      T* plane = data_.data() + c * plan.PlaneSize() + y.pad_begin * x.padded() + x.pad_begin;
      for (std::int64_t r = 0; r < runs; ++r, stored += run) {
        kernel.load(stored, run, plan.x.is_signed, plan.x.type.offset, plane + r * x.padded());
      }
    }
  }
  const T* data() const { return data_.data(); }

 private:
  std::int64_t channels_;
  std::vector<T> data_;
};

std::unique_ptr<Step> MakeDepthwiseConv(ConvPlan plan, Requantizer requantizer);
/// An inner product per output position, on int16 operands, or int8 ones where weights and kernels
/// allow.
std::unique_ptr<Step> MakeGemmConv(ConvPlan plan, Requantizer requantizer);
std::unique_ptr<Step> MakeNarrowGemmConv(ConvPlan plan, Requantizer requantizer);

}  // namespace qtx::backend::engine
