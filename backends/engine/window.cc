#include "engine/window.h"

#include <algorithm>
#include <string>

#include "qtx/format/limits.h"

namespace qtx::backend::engine {
namespace {

// Larger attributes have no use; below this no sum or product of them overflows.
constexpr std::int64_t kLargestAttribute = std::int64_t{1} << 24;
constexpr std::int64_t kMostPositions = std::int64_t{1} << 28;  // along one axis

Result<std::vector<std::int64_t>> Bounded(const NodePlan& plan, const char* name, std::size_t size,
                                          std::int64_t fallback, std::int64_t smallest) {
  const auto values = plan.node().IntsOr(name, std::vector<std::int64_t>(size, fallback));
  if (values.size() != size) {
    return plan.Invalid(std::string(name) + ": found " + std::to_string(values.size()) +
                        " values, expected " + std::to_string(size));
  }
  for (const std::int64_t value : values) {
    const std::string found = std::string(name) + ": found " + std::to_string(value);
    if (value < smallest) {
      return plan.Invalid(found + ", expected at least " + std::to_string(smallest));
    }
    if (value > kLargestAttribute) return plan.Unsupported(found + ", supported up to 2^24");
  }
  return values;
}

// SAME: out = ceil(in / stride), the odd pad at the end (upper) or the beginning (lower).
void PadSame(WindowAxis& axis, bool odd_at_end) {
  const std::int64_t out = (axis.in + axis.stride - 1) / axis.stride;
  const std::int64_t reach = (axis.kernel - 1) * axis.dilation + 1;
  const std::int64_t pads = std::max<std::int64_t>(0, (out - 1) * axis.stride + reach - axis.in);
  axis.pad_begin = odd_at_end ? pads / 2 : pads - pads / 2;
  axis.pad_end = pads - axis.pad_begin;
}

// Fills in pads and out.  Source: ONNX Conv and AveragePool, auto_pad and ceil_mode.
Result<void> Finish(const NodePlan& plan, WindowAxis& axis) {
  const std::string auto_pad = plan.node().StringOr("auto_pad", "NOTSET");
  if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
    PadSame(axis, auto_pad == "SAME_UPPER");
  } else if (auto_pad == "VALID") {
    axis.pad_begin = axis.pad_end = 0;
  } else if (auto_pad != "NOTSET") {
    return plan.Invalid("auto_pad '" + auto_pad + "'");
  }
  const std::int64_t reach = (axis.kernel - 1) * axis.dilation + 1;
  const std::int64_t room = axis.padded() - reach;
  const bool ceil_mode = plan.node().IntOr("ceil_mode", 0) != 0;
  // With ceil_mode the first window may reach less than a stride beyond the padding.
  if (room < 0 && !(ceil_mode && room > -axis.stride)) {
    return plan.Invalid("the window is larger than the padded input");
  }
  axis.out = room < 0 ? 1 : room / axis.stride + 1;
  if (ceil_mode && room > 0 && room % axis.stride != 0) {
    // A further window counts only if it starts inside the input or its begin padding.
    if (axis.out * axis.stride < axis.in + axis.pad_begin) ++axis.out;
  }
  return {};
}

std::int64_t CeilDivide(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// How many taps, from the first on, lie below `limit`.
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
  taps.counted = TapsBelow(axis, start, axis.in + axis.pad_end);
  taps.count = TapsBelow(axis, start, axis.in) - before;
  if (taps.count <= 0) {
    taps.count = 0;
    return taps;
  }
  taps.tap = before;
  taps.first = start + before * axis.dilation;
  taps.end = taps.first + (taps.count - 1) * axis.dilation + 1;
  return taps;
}

Result<std::vector<WindowAxis>> WindowAxesOf(const NodePlan& plan,
                                             std::span<const std::int64_t> dims,
                                             std::span<const std::int64_t> kernel) {
  const std::size_t rank = dims.size();
  const auto declared = plan.node().IntsOr("kernel_shape", {kernel.begin(), kernel.end()});
  if (!std::ranges::equal(declared, kernel))
    return plan.Invalid("kernel_shape differs from the weights");
  QTX_ASSIGN_OR_RETURN(const auto strides, Bounded(plan, "strides", rank, 1, 1));
  QTX_ASSIGN_OR_RETURN(const auto dilations, Bounded(plan, "dilations", rank, 1, 1));
  QTX_ASSIGN_OR_RETURN(const auto pads, Bounded(plan, "pads", 2 * rank, 0, 0));
  std::vector<WindowAxis> axes;
  for (std::size_t i = 0; i < rank; ++i) {
    if (kernel[i] < 1 || dims[i] < 1) return plan.Invalid("an empty window or input");
    if (kernel[i] > kLargestAttribute || dims[i] > format::kMaxElements) {
      return plan.Unsupported("an axis this long");
    }
    axes.push_back({dims[i], kernel[i], strides[i], dilations[i], pads[i], pads[rank + i], 1});
    QTX_RETURN_IF_ERROR(Finish(plan, axes.back()));
    if (axes.back().out > kMostPositions) return plan.Unsupported("an output axis this long");
  }
  return axes;
}

Result<Window> WindowOf(const NodePlan& plan, std::span<const WindowAxis> axes) {
  if (axes.size() == 1) return Window{{}, axes[0]};
  if (axes.size() == 2) return Window{axes[0], axes[1]};
  return plan.Unsupported(std::to_string(axes.size()) + " spatial dimensions");
}

format::Dims OutputDims(std::span<const WindowAxis> axes, std::int64_t batch,
                        std::int64_t channels) {
  format::Dims dims{batch, channels};
  for (const WindowAxis& axis : axes) dims.push_back(axis.out);
  return dims;
}

}  // namespace qtx::backend::engine
