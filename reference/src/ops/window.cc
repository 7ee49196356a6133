#include "ops/window.h"

#include <algorithm>

namespace qtx::reference {
namespace {

using format::Dims;
using format::WindowAxis;

std::int64_t CeilDivide(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace

Result<WindowLayout> WindowLayout::Make(std::vector<WindowAxis> axes) {
  Dims input, kernel, output;
  for (const WindowAxis& axis : axes) {
    input.push_back(axis.input);
    kernel.push_back(axis.kernel);
    output.push_back(axis.output);
  }
  QTX_RETURN_IF_ERROR(format::ElementCount(kernel));
  QTX_ASSIGN_OR_RETURN(const std::int64_t positions, format::ElementCount(output));
  return WindowLayout{std::move(axes), format::RowMajorStrides(input),
                      format::RowMajorStrides(kernel), positions};
}

Result<Window> Window::Make(const format::Node& node, std::span<const std::int64_t> input,
                            std::span<const std::int64_t> kernel) {
  QTX_ASSIGN_OR_RETURN(auto axes, format::WindowAxes(node, input, kernel));
  Window window;
  QTX_ASSIGN_OR_RETURN(window.layout_, WindowLayout::Make(std::move(axes)));
  return window;
}

void Window::TapsAt(std::int64_t position, std::vector<Tap>* taps) const {
  taps->assign(1, Tap{});
  std::vector<Tap> next;
  std::int64_t stride = layout_.positions;
  for (std::size_t i = 0; i < layout_.axes.size(); ++i) {
    const WindowAxis& axis = layout_.axes[i];
    stride /= axis.output;
    const std::int64_t start = position / stride % axis.output * axis.stride - axis.pad_begin;
    // Only kernel elements inside the input are visited: a huge kernel costs nothing.
    const std::int64_t first = start < 0 ? CeilDivide(-start, axis.dilation) : 0;
    const std::int64_t fitting =
        start < axis.input ? CeilDivide(axis.input - start, axis.dilation) : 0;
    const std::int64_t end = std::min(axis.kernel, fitting);
    next.clear();
    for (const Tap& tap : *taps) {
      for (std::int64_t k = first; k < end; ++k) {
        next.push_back({tap.kernel + k * layout_.kernel_strides[i],
                        tap.input + (start + k * axis.dilation) * layout_.input_strides[i]});
      }
    }
    taps->swap(next);
  }
}

bool Window::IsWholeInput() const {
  return std::ranges::all_of(layout_.axes, [](const WindowAxis& axis) {
    const bool dense = axis.dilation == 1 || axis.kernel == 1;
    return axis.kernel == axis.input && dense && axis.pad_begin == 0 && axis.pad_end == 0;
  });
}

bool Window::HasPadding() const {
  return std::ranges::any_of(layout_.axes, [](const WindowAxis& axis) {
    return axis.pad_begin != 0 || axis.pad_end != 0;
  });
}

std::int64_t Window::PaddedCount(std::int64_t position) const {
  std::int64_t count = 1;
  std::int64_t stride = layout_.positions;
  for (const WindowAxis& axis : layout_.axes) {
    stride /= axis.output;
    const std::int64_t start = position / stride % axis.output * axis.stride - axis.pad_begin;
    const std::int64_t room = axis.input + axis.pad_end - start;
    count *= std::min(axis.kernel, CeilDivide(room, axis.dilation));
  }
  return count;
}

}  // namespace qtx::reference
