#include "peer/window.h"

#include <algorithm>

#include "qtx/format/window.h"

namespace qtx::backend::peer {
namespace {

// Limit on sizes, so that no sum or product of two overflows and each fits a library's 32 bits.
constexpr std::int64_t kLargest = std::int64_t{1} << 24;

}  // namespace

bool Window::padded() const {
  const auto positive = [](std::int64_t pad) { return pad > 0; };
  return std::ranges::any_of(pads_begin, positive) || std::ranges::any_of(pads_end, positive);
}

Result<Window> WindowOf(const Reader& node, std::span<const std::int64_t> in,
                        std::vector<std::int64_t> kernel) {
  if (kernel.empty()) kernel = node.node().IntsOr("kernel_shape", {});
  const auto axes = format::WindowAxes(node.node(), in, kernel);
  if (!axes.has_value()) return node.Unsupported(axes.error().Text());
  Window w;
  for (const format::WindowAxis& axis : *axes) {
    if (std::max({axis.kernel, axis.stride, axis.dilation, axis.pad_begin, axis.pad_end}) >
        kLargest) {
      return node.Unsupported("a window's sizes are supported up to 2^24");
    }
    w.kernel.push_back(axis.kernel);
    w.strides.push_back(axis.stride);
    w.dilations.push_back(axis.dilation);
    w.pads_begin.push_back(axis.pad_begin);
    w.out.push_back(axis.output);
    // The end padding that the last window really needs, which may be negative.
    const std::int64_t reach = (axis.output - 1) * axis.stride + (axis.kernel - 1) * axis.dilation;
    w.pads_end.push_back(reach + 1 - axis.input - axis.pad_begin);
    w.cut = w.cut || w.pads_end.back() > axis.pad_end;
  }
  return w;
}

}  // namespace qtx::backend::peer
