#include "ops/transposed_window.h"

namespace qtx::reference {

Result<TransposedWindow> TransposedWindow::Make(const format::Node& node,
                                                std::span<const std::int64_t> input,
                                                std::span<const std::int64_t> kernel) {
  QTX_ASSIGN_OR_RETURN(auto axes, format::TransposedWindowAxes(node, input, kernel));
  TransposedWindow window;
  QTX_ASSIGN_OR_RETURN(window.layout_, WindowLayout::Make(std::move(axes)));
  return window;
}

void TransposedWindow::TapsAt(std::int64_t position, std::vector<Tap>* taps) const {
  taps->assign(1, Tap{});
  std::vector<Tap> next;
  std::int64_t stride = layout_.positions;
  for (std::size_t i = 0; i < layout_.axes.size(); ++i) {
    const format::WindowAxis& axis = layout_.axes[i];
    stride /= axis.output;
    const std::int64_t padded = position / stride % axis.output + axis.pad_begin;
    next.clear();
    for (const Tap& tap : *taps) {
      for (std::int64_t k = 0; k < axis.kernel; ++k) {
        const std::int64_t reach = padded - k * axis.dilation;  // the stride times x's position
        if (reach < 0 || reach % axis.stride != 0 || reach / axis.stride >= axis.input) continue;
        next.push_back({tap.kernel + k * layout_.kernel_strides[i],
                        tap.input + reach / axis.stride * layout_.input_strides[i]});
      }
    }
    taps->swap(next);
  }
}

}  // namespace qtx::reference
