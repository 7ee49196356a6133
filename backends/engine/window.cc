#include "engine/window.h"

#include <algorithm>

#include "qtx/format/limits.h"

namespace qtx::backend::engine {
namespace {

// Larger attributes have no use.
constexpr std::int64_t kLargestAttribute = std::int64_t{1} << 24;
constexpr std::int64_t kMostPadding = std::int64_t{1} << 48;    // that auto_pad comes to
constexpr std::int64_t kMostPositions = std::int64_t{1} << 28;  // along one axis

std::int64_t CeilDivide(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// The number of taps, from the first on, below `limit`.
std::int64_t TapsBelow(const WindowAxis& axis, std::int64_t start, std::int64_t limit) {
  if (limit <= start) return 0;
  return std::min(axis.kernel, CeilDivide(limit - start, axis.dilation));
}

}  // namespace

Taps TapsAt(const WindowAxis& axis, std::int64_t out) {
  const std::int64_t start = out * axis.stride - axis.pad_begin;
  const std::int64_t before = start < 0 ? CeilDivide(-start, axis.dilation) : 0;
  Taps taps;
  taps.step = axis.dilation;
  taps.counted = TapsBelow(axis, start, axis.input + axis.pad_end);
  taps.count = TapsBelow(axis, start, axis.input) - before;
  if (taps.count <= 0) {
    taps.count = 0;
    return taps;
  }
  taps.tap = before;
  taps.first = start + before * axis.dilation;
  taps.end = taps.first + (taps.count - 1) * axis.dilation + 1;
  return taps;
}

Result<std::vector<WindowAxis>> WithinLimits(const NodePlan& plan,
                                             Result<std::vector<WindowAxis>> axes) {
  if (!axes.has_value()) return plan.Because(axes.error());
  for (const WindowAxis& axis : *axes) {
    if (axis.input < 1) return plan.Unsupported("an axis without elements");
    if (std::max({axis.kernel, axis.stride, axis.dilation}) > kLargestAttribute) {
      return plan.Unsupported("kernels, strides and dilations are supported up to 2^24");
    }
    if (axis.input > format::kMaxElements || axis.output > kMostPositions ||
        std::max(axis.pad_begin, axis.pad_end) > kMostPadding) {
      return plan.Unsupported("an axis this long");
    }
  }
  return axes;
}

Result<std::vector<WindowAxis>> WindowAxesOf(const NodePlan& plan,
                                             std::span<const std::int64_t> dims,
                                             std::span<const std::int64_t> kernel) {
  return WithinLimits(plan, format::WindowAxes(plan.node(), dims, kernel));
}

Result<Window> WindowOf(const NodePlan& plan, std::span<const WindowAxis> axes) {
  if (axes.size() == 1) return Window{{}, axes[0]};
  if (axes.size() == 2) return Window{axes[0], axes[1]};
  return plan.Unsupported(std::to_string(axes.size()) + " spatial dimensions");
}

format::Dims OutputDims(std::span<const WindowAxis> axes, std::int64_t batch,
                        std::int64_t channels) {
  format::Dims dims{batch, channels};
  for (const WindowAxis& axis : axes) dims.push_back(axis.output);
  return dims;
}

}  // namespace qtx::backend::engine
