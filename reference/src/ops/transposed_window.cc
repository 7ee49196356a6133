#include "ops/transposed_window.h"

#include <algorithm>

namespace qtx::reference {
namespace {

using format::Dims;

}  // namespace

Result<void> TransposedWindow::Place(Axis* axis, const std::string& auto_pad, bool output_given) {
  if (axis->input < 1 || axis->input >= (std::int64_t{1} << 31)) {
    return BadAttribute("pads", "found an input of " + std::to_string(axis->input) +
                                    ", expected at least 1 and less than 2^31");
  }
  if (axis->output_padding >= std::max(axis->stride, axis->dilation)) {
    return BadAttribute("output_padding", "found " + std::to_string(axis->output_padding) +
                                              ", expected less than the stride or the dilation");
  }
  const bool same = auto_pad.starts_with("SAME");
  if (auto_pad == "VALID") axis->pad_begin = axis->pad_end = 0;
  const std::int64_t full = axis->stride * (axis->input - 1) + axis->output_padding +
                            axis->dilation * (axis->kernel - 1) + 1;
  if (!output_given && !same) {
    axis->output = full - axis->pad_begin - axis->pad_end;
  } else {
    if (!output_given) axis->output = axis->input * axis->stride;
    const std::int64_t total = std::max<std::int64_t>(0, full - axis->output);
    axis->pad_begin = auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
  }
  if (axis->output < 1) return BadAttribute("pads", "the output is empty");
  return {};
}

Result<TransposedWindow> TransposedWindow::Make(const format::Node& node,
                                                std::span<const std::int64_t> input,
                                                std::span<const std::int64_t> kernel) {
  const std::size_t rank = input.size();
  QTX_ASSIGN_OR_RETURN(const Dims strides, WindowInts(node, "strides", rank, 1));
  QTX_ASSIGN_OR_RETURN(const Dims dilations, WindowInts(node, "dilations", rank, 1));
  QTX_ASSIGN_OR_RETURN(const Dims pads, WindowInts(node, "pads", 2 * rank, 0));
  QTX_ASSIGN_OR_RETURN(const Dims paddings, WindowInts(node, "output_padding", rank, 0));
  QTX_ASSIGN_OR_RETURN(const Dims shape, WindowInts(node, "output_shape", rank, 1));
  const bool output_given = node.Find("output_shape") != nullptr;
  const Dims input_strides = format::RowMajorStrides(input);
  const Dims kernel_strides = format::RowMajorStrides(kernel);
  TransposedWindow window;
  for (std::size_t i = 0; i < rank; ++i) {
    Axis axis{input[i],       kernel[i],   strides[i], dilations[i],     pads[i],
              pads[rank + i], paddings[i], shape[i],   input_strides[i], kernel_strides[i]};
    QTX_RETURN_IF_ERROR(Place(&axis, node.StringOr("auto_pad", "NOTSET"), output_given));
    window.axes_.push_back(axis);
    window.output_.push_back(axis.output);
  }
  QTX_ASSIGN_OR_RETURN(window.positions_, format::ElementCount(window.output_));
  return window;
}

void TransposedWindow::TapsAt(std::int64_t position, std::vector<Tap>* taps) const {
  taps->assign(1, Tap{});
  std::vector<Tap> next;
  std::int64_t stride = positions_;
  for (const Axis& axis : axes_) {
    stride /= axis.output;
    const std::int64_t padded = position / stride % axis.output + axis.pad_begin;
    next.clear();
    for (const Tap& tap : *taps) {
      for (std::int64_t k = 0; k < axis.kernel; ++k) {
        const std::int64_t reach = padded - k * axis.dilation;  // the stride times x's position
        if (reach < 0 || reach % axis.stride != 0 || reach / axis.stride >= axis.input) continue;
        next.push_back({tap.kernel + k * axis.kernel_stride,
                        tap.input + reach / axis.stride * axis.input_stride});
      }
    }
    taps->swap(next);
  }
}

}  // namespace qtx::reference
