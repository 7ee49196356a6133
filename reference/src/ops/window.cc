#include "ops/window.h"

#include <algorithm>
#include <string>

namespace qtx::reference {
namespace {

using format::Dims;

std::int64_t CeilDivide(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace

Error BadAttribute(const std::string& attribute, std::string message) {
  return Error{ErrorCode::kInvalid, "attribute '" + attribute + "'", std::move(message)};
}

Result<Dims> WindowInts(const format::Node& node, const std::string& name, std::size_t count,
                        std::int64_t fallback) {
  Dims values = node.IntsOr(name, Dims(count, fallback));
  if (values.size() != count) {
    return BadAttribute(name, "found " + std::to_string(values.size()) + " values, expected " +
                                  std::to_string(count));
  }
  for (const std::int64_t value : values) {
    // Below 2^31, so that sums and products of two of them cannot overflow.
    if (value < fallback || value >= (std::int64_t{1} << 31)) {
      return BadAttribute(name, "found " + std::to_string(value) + ", expected at least " +
                                    std::to_string(fallback) + " and less than 2^31");
    }
  }
  return values;
}

Result<void> CheckWindowAttributes(const format::Node& node) {
  const std::string auto_pad = node.StringOr("auto_pad", "NOTSET");
  if (auto_pad != "NOTSET" && auto_pad != "VALID" && auto_pad != "SAME_UPPER" &&
      auto_pad != "SAME_LOWER") {
    return BadAttribute(
        "auto_pad", "found '" + auto_pad + "', expected NOTSET, VALID, SAME_UPPER or SAME_LOWER");
  }
  return {};
}

Result<void> Window::ReadAxes(const format::Node& node, std::span<const std::int64_t> input,
                              std::span<const std::int64_t> kernel) {
  const std::size_t rank = input.size();
  QTX_ASSIGN_OR_RETURN(const Dims strides, WindowInts(node, "strides", rank, 1));
  QTX_ASSIGN_OR_RETURN(const Dims dilations, WindowInts(node, "dilations", rank, 1));
  QTX_ASSIGN_OR_RETURN(const Dims pads, WindowInts(node, "pads", 2 * rank, 0));
  const Dims input_strides = format::RowMajorStrides(input);
  const Dims kernel_strides = format::RowMajorStrides(kernel);
  for (std::size_t i = 0; i < rank; ++i) {
    if (kernel[i] < 1 || kernel[i] >= (std::int64_t{1} << 31)) {
      return BadAttribute("kernel_shape",
                          "found " + std::to_string(kernel[i]) + ", expected at least 1");
    }
    axes_.push_back({input[i], kernel[i], strides[i], dilations[i], pads[i], pads[rank + i], 0,
                     input_strides[i], kernel_strides[i]});
  }
  return {};
}

Result<void> Window::Place(Axis* axis, const std::string& auto_pad, bool ceil_mode) {
  const std::int64_t extent = axis->dilation * (axis->kernel - 1) + 1;
  if (auto_pad == "VALID") axis->pad_begin = axis->pad_end = 0;
  if (auto_pad.starts_with("SAME")) {
    axis->output = CeilDivide(axis->input, axis->stride);
    const std::int64_t reach = (axis->output - 1) * axis->stride + extent;
    const std::int64_t total = std::max<std::int64_t>(0, reach - axis->input);
    axis->pad_begin = auto_pad == "SAME_LOWER" ? CeilDivide(total, 2) : total / 2;
    axis->pad_end = total - axis->pad_begin;
  } else {
    const std::int64_t room = axis->input + axis->pad_begin + axis->pad_end - extent;
    // With ceil_mode the first window may reach less than a stride beyond the padding.
    if (room < 0 && !(ceil_mode && room > -axis->stride)) {
      return BadAttribute("kernel_shape", "a window of " + std::to_string(extent) +
                                              " does not fit an input of " +
                                              std::to_string(axis->input) + " with its padding");
    }
    axis->output = (ceil_mode ? CeilDivide(room, axis->stride) : room / axis->stride) + 1;
    // A window that begins in the end padding is dropped (average_pool.S3).
    if (ceil_mode && (axis->output - 1) * axis->stride >= axis->input + axis->pad_begin) {
      --axis->output;
    }
  }
  if (axis->output < 1) return BadAttribute("kernel_shape", "the output is empty");
  return {};
}

Result<Window> Window::Make(const format::Node& node, std::span<const std::int64_t> input,
                            std::span<const std::int64_t> kernel) {
  QTX_RETURN_IF_ERROR(CheckWindowAttributes(node));
  QTX_RETURN_IF_ERROR(format::ElementCount(kernel));
  Window window;
  QTX_RETURN_IF_ERROR(window.ReadAxes(node, input, kernel));
  for (Axis& axis : window.axes_) {
    QTX_RETURN_IF_ERROR(
        window.Place(&axis, node.StringOr("auto_pad", "NOTSET"), node.IntOr("ceil_mode", 0) != 0));
    window.output_.push_back(axis.output);
  }
  QTX_ASSIGN_OR_RETURN(window.positions_, format::ElementCount(window.output_));
  return window;
}

void Window::TapsAt(std::int64_t position, std::vector<Tap>* taps) const {
  taps->assign(1, Tap{});
  std::vector<Tap> next;
  std::int64_t stride = positions_;
  for (const Axis& axis : axes_) {
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
        next.push_back({tap.kernel + k * axis.kernel_stride,
                        tap.input + (start + k * axis.dilation) * axis.input_stride});
      }
    }
    taps->swap(next);
  }
}

bool Window::IsWholeInput() const {
  return std::ranges::all_of(axes_, [](const Axis& axis) {
    const bool dense = axis.dilation == 1 || axis.kernel == 1;
    return axis.kernel == axis.input && dense && axis.pad_begin == 0 && axis.pad_end == 0;
  });
}

std::int64_t Window::PaddedCount(std::int64_t position) const {
  std::int64_t count = 1;
  std::int64_t stride = positions_;
  for (const Axis& axis : axes_) {
    stride /= axis.output;
    const std::int64_t start = position / stride % axis.output * axis.stride - axis.pad_begin;
    const std::int64_t room = axis.input + axis.pad_end - start;
    count *= std::min(axis.kernel, CeilDivide(room, axis.dilation));
  }
  return count;
}

}  // namespace qtx::reference
