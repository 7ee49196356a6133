#include "qtx/format/window.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "qtx/format/catalogue.h"

namespace qtx::format {
namespace {

using WindowInteger = __int128;  // holds the sum of a few products of two sizes

WindowInteger FloorOfWindow(WindowInteger a, WindowInteger b) {
  return a / b - (a % b < 0 ? 1 : 0);  // b > 0
}
WindowInteger CeilOfWindow(WindowInteger a, WindowInteger b) { return -FloorOfWindow(-a, b); }

Error BadWindow(std::string_view attribute, std::string message) {
  return Error{ErrorCode::kInvalid, "attribute '" + std::string(attribute) + "'",
               std::move(message)};
}

// The attribute, when given, has `count` values of at least `least`.
Result<void> CheckWindowInts(const Node& node, std::string_view name,
                             std::optional<std::size_t> count, std::int64_t least) {
  const Attribute* found = node.Find(name);
  if (found == nullptr) return {};
  if (count && found->ints.size() != *count) {
    return BadWindow(name, "found " + std::to_string(found->ints.size()) + " values, expected " +
                               std::to_string(*count));
  }
  for (const std::int64_t value : found->ints) {
    if (value >= least) continue;
    return BadWindow(
        name, "found " + std::to_string(value) + ", expected at least " + std::to_string(least));
  }
  return {};
}

// Global pools have no such attribute.
std::string AutoPadOf(const Node& node) { return node.StringOr("auto_pad", "NOTSET"); }
bool IsSame(std::string_view auto_pad) { return auto_pad.starts_with("SAME"); }

// Strides, dilations and pads of each axis.  REQUIRES: CheckWindowAttributes.
Result<std::vector<WindowAxis>> ReadWindowAxes(const Node& node,
                                               std::span<const std::int64_t> input,
                                               std::span<const std::int64_t> kernel) {
  const std::size_t rank = input.size();
  QTX_RETURN_IF_ERROR(CheckAutoPad(node));
  QTX_RETURN_IF_ERROR(CheckWindowInts(node, "kernel_shape", kernel.size(), 1));
  const auto kernel_shape = node.IntsOr("kernel_shape", {kernel.begin(), kernel.end()});
  const auto strides = node.IntsOr("strides", std::vector<std::int64_t>(rank, 1));
  const auto dilations = node.IntsOr("dilations", std::vector<std::int64_t>(rank, 1));
  const auto pads = node.IntsOr("pads", std::vector<std::int64_t>(2 * rank, 0));
  if (kernel.size() != rank) {
    return BadWindow("kernel_shape", "found a kernel of " + std::to_string(kernel.size()) +
                                         " axes, expected " + std::to_string(rank));
  }
  std::vector<WindowAxis> axes;
  for (std::size_t i = 0; i < rank; ++i) {
    if (kernel[i] == 0 || (kernel[i] > 0 && kernel[i] != kernel_shape[i])) {
      return BadWindow("kernel_shape", "found " + std::to_string(kernel_shape[i]) +
                                           " for a kernel of " + std::to_string(kernel[i]));
    }
    axes.push_back({input[i], kernel_shape[i], strides[i], dilations[i], pads[i], pads[rank + i],
                    kUnknownSize});
  }
  return axes;
}

WindowInteger ExtentOf(const WindowAxis& axis) {
  return WindowInteger{axis.dilation} * (axis.kernel - 1) + 1;
}

// Of an odd padding the greater half is at the end with SAME_UPPER.
void SplitWindowPads(WindowInteger pads, bool more_at_end, WindowAxis* axis) {
  axis->pad_begin = static_cast<std::int64_t>(more_at_end ? pads / 2 : pads - pads / 2);
  axis->pad_end = static_cast<std::int64_t>(pads) - axis->pad_begin;
}

// `output`, where no position passes the limit; `reach` is one beyond the last.
Result<void> SetWindowOutput(WindowInteger output, WindowInteger reach, std::size_t i,
                             WindowAxis* axis) {
  const std::string where = "spatial axis " + std::to_string(i);
  if (output < 1) {
    return Error{ErrorCode::kInvalid, where,
                 "found no output: the window or the padding is too large for an input of " +
                     std::to_string(axis->input)};
  }
  const std::int64_t most = std::max(axis->input, axis->kernel);
  if (std::max({output, reach, WindowInteger{most}}) >= kMaxWindowSize) {
    return Error{ErrorCode::kTooLarge, where, "found a window or padding of 2^60 or more"};
  }
  axis->output = static_cast<std::int64_t>(output);
  axis->stride = std::min(axis->stride, kMaxWindowSize);
  axis->dilation = std::min(axis->dilation, kMaxWindowSize);
  return {};
}

// Output and pads.  Source: conv.S4, conv.S5, average_pool.S3.
Result<void> PlaceWindow(std::string_view auto_pad, bool ceil_mode, std::size_t i,
                         WindowAxis* axis) {
  const bool same = IsSame(auto_pad);
  if (auto_pad != "NOTSET") axis->pad_begin = axis->pad_end = same ? kUnknownSize : 0;
  WindowInteger pads = WindowInteger{axis->pad_begin} + axis->pad_end;
  const WindowInteger input = axis->input;
  const WindowInteger stride = axis->stride;
  const WindowInteger extent = ExtentOf(*axis);
  if (input < 0) {
    const bool keeps = stride == 1 && (same || (axis->kernel > 0 && pads == extent - 1));
    if (keeps) axis->output = axis->input;
    return {};
  }
  if (same) {
    const WindowInteger output = CeilOfWindow(input, stride);
    if (axis->kernel < 0) return SetWindowOutput(output, input, i, axis);
    pads = std::max<WindowInteger>(0, (output - 1) * stride + extent - input);
    QTX_RETURN_IF_ERROR(SetWindowOutput(output, input + pads, i, axis));
    SplitWindowPads(pads, auto_pad == "SAME_UPPER", axis);
    return {};
  }
  if (axis->kernel < 0) return {};
  const WindowInteger room = input + pads - extent;
  WindowInteger output = (ceil_mode ? CeilOfWindow(room, stride) : FloorOfWindow(room, stride)) + 1;
  // A window that begins in the end padding is dropped.
  if (ceil_mode && (output - 1) * stride >= input + axis->pad_begin) --output;
  const WindowInteger reach = std::max(input + pads, (output - 1) * stride + extent);
  return SetWindowOutput(output, reach, i, axis);
}

// `size` is that of output_shape.  Source: conv_transpose.S4 to conv_transpose.S6.
Result<void> PlaceTransposedWindow(std::string_view auto_pad, WindowInteger output_padding,
                                   std::optional<std::int64_t> size, std::size_t i,
                                   WindowAxis* axis) {
  const bool same = IsSame(auto_pad) && !size;
  if (axis->input == 0) {
    return Error{ErrorCode::kInvalid, "spatial axis " + std::to_string(i),
                 "found an input of size 0"};
  }
  if (auto_pad == "VALID") axis->pad_begin = axis->pad_end = 0;
  if (same || size) axis->pad_begin = axis->pad_end = kUnknownSize;
  const bool known = axis->input > 0 && axis->kernel > 0;
  const WindowInteger pads = WindowInteger{axis->pad_begin} + axis->pad_end;
  const WindowInteger beyond = output_padding + ExtentOf(*axis) - 1;  // where the kernel is known
  if (!known && !size && (!same || axis->input < 0)) {
    const bool keeps = axis->stride == 1 && (same || (axis->kernel > 0 && pads == beyond));
    if (keeps) axis->output = axis->input;
    return {};
  }
  const WindowInteger stride = axis->stride;
  const WindowInteger full = known ? stride * (axis->input - 1) + beyond + 1 : 0;
  const WindowInteger output = size ? *size : same ? stride * axis->input : full - pads;
  QTX_RETURN_IF_ERROR(SetWindowOutput(output, full, i, axis));
  if (known && (same || size)) {
    SplitWindowPads(std::max<WindowInteger>(0, full - output), auto_pad == "SAME_UPPER", axis);
  }
  return {};
}

}  // namespace

Result<void> CheckWindowAttributes(const Node& node, std::optional<std::size_t> rank) {
  QTX_RETURN_IF_ERROR(CheckWindowInts(node, "strides", rank, 1));
  QTX_RETURN_IF_ERROR(CheckWindowInts(node, "dilations", rank, 1));
  return CheckWindowInts(node, "pads", rank ? std::optional(2 * *rank) : std::nullopt, 0);
}

Result<void> CheckTransposedWindowAttributes(const Node& node, std::optional<std::size_t> rank) {
  QTX_RETURN_IF_ERROR(CheckWindowAttributes(node, rank));
  QTX_RETURN_IF_ERROR(CheckWindowInts(node, "output_padding", rank, 0));
  QTX_RETURN_IF_ERROR(CheckWindowInts(node, "output_shape", rank, 1));
  const auto paddings = node.IntsOr("output_padding", {});
  const auto strides = node.IntsOr("strides", std::vector<std::int64_t>(paddings.size(), 1));
  const auto dilations = node.IntsOr("dilations", std::vector<std::int64_t>(paddings.size(), 1));
  for (std::size_t i = 0; i < std::min({paddings.size(), strides.size(), dilations.size()}); ++i) {
    if (paddings[i] < std::max(strides[i], dilations[i])) continue;
    return BadWindow("output_padding", "found " + std::to_string(paddings[i]) +
                                           ", expected less than the stride or the dilation");
  }
  return {};
}

Result<void> CheckPoolAttributes(const Node& node) {
  const auto kernel = node.IntsOr("kernel_shape", {});
  QTX_RETURN_IF_ERROR(CheckWindowAttributes(node, kernel.size()));
  const auto pads = node.IntsOr("pads", {});
  for (std::size_t i = 0; i < pads.size(); ++i) {
    const std::int64_t size = kernel[i % kernel.size()];
    if (pads[i] < size) continue;
    return BadWindow("pads", "found " + std::to_string(pads[i]) +
                                 ", expected less than the kernel's " + std::to_string(size));
  }
  return {};
}

Result<void> CheckKernelShape(const Node& node, std::optional<std::size_t> rank) {
  if (node.Find("kernel_shape") == nullptr) return BadWindow("kernel_shape", "is not given");
  return CheckWindowInts(node, "kernel_shape", rank, 1);
}

Result<void> CheckAutoPad(const Node& node) {
  const std::string auto_pad = AutoPadOf(node);
  if (auto_pad == "NOTSET" || auto_pad == "VALID" || auto_pad == "SAME_UPPER" ||
      auto_pad == "SAME_LOWER") {
    return {};
  }
  return BadWindow("auto_pad",
                   "found '" + auto_pad + "', expected NOTSET, VALID, SAME_UPPER or SAME_LOWER");
}

Result<std::vector<WindowAxis>> WindowAxes(const Node& node, std::span<const std::int64_t> input,
                                           std::span<const std::int64_t> kernel) {
  QTX_RETURN_IF_ERROR(CheckWindowAttributes(node, input.size()));
  QTX_ASSIGN_OR_RETURN(std::vector<WindowAxis> axes, ReadWindowAxes(node, input, kernel));
  const std::string auto_pad = AutoPadOf(node);
  const bool ceil_mode = Attributes(node).Int("ceil_mode") != 0;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    QTX_RETURN_IF_ERROR(PlaceWindow(auto_pad, ceil_mode, i, &axes[i]));
  }
  return axes;
}

Result<std::vector<WindowAxis>> TransposedWindowAxes(const Node& node,
                                                     std::span<const std::int64_t> input,
                                                     std::span<const std::int64_t> kernel) {
  const std::size_t rank = input.size();
  QTX_RETURN_IF_ERROR(CheckTransposedWindowAttributes(node, rank));
  QTX_ASSIGN_OR_RETURN(std::vector<WindowAxis> axes, ReadWindowAxes(node, input, kernel));
  const std::string auto_pad = AutoPadOf(node);
  const auto paddings = node.IntsOr("output_padding", std::vector<std::int64_t>(rank, 0));
  const Attribute* shape = node.Find("output_shape");
  for (std::size_t i = 0; i < rank; ++i) {
    std::optional<std::int64_t> size;
    if (shape != nullptr) size = shape->ints[i];
    QTX_RETURN_IF_ERROR(PlaceTransposedWindow(auto_pad, paddings[i], size, i, &axes[i]));
  }
  return axes;
}

// Windows step over an input that is shorter than the dilation. A window that begins before the
// input at b has its first element from 0 on at b modulo the dilation; the positions of
// further windows grow, and pass the dilation at most once, to positions in the input again.
bool HasWindowInPadding(const WindowAxis& axis) {
  if (axis.input < 0 || axis.output < 0 || axis.pad_begin < 0) return false;
  if (axis.input == 0) return true;
  if (axis.pad_begin == 0) return false;  // windows begin in the input
  const std::int64_t first = (axis.dilation - axis.pad_begin % axis.dilation) % axis.dilation;
  if (first >= axis.input) return true;
  const std::int64_t window = (axis.input - first + axis.stride - 1) / axis.stride;
  return window < axis.output && window * axis.stride < axis.pad_begin &&
         first + window * axis.stride < axis.dilation;
}

}  // namespace qtx::format
