#include "windows.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace qtx::conformance {
namespace {

using format::Dims;
using format::Node;

std::int64_t Product(const Dims& dims) {
  return std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>());
}

}  // namespace

std::optional<Dims> PadsOf(const Node& node, const Dims& x, const Dims& kernel) {
  const std::size_t rank = kernel.size();
  const std::string mode = node.StringOr("auto_pad", "NOTSET");
  const Dims none(2 * rank);
  Dims pads = mode == "NOTSET" ? node.IntsOr("pads", none) : none;
  const Dims strides = node.IntsOr("strides", Dims(rank, 1));
  const Dims dilations = node.IntsOr("dilations", Dims(rank, 1));
  if (x.size() != rank + 2 || pads.size() != 2 * rank || strides.size() != rank ||
      dilations.size() != rank || std::ranges::any_of(strides, [](auto s) { return s < 1; })) {
    return std::nullopt;
  }
  if (!mode.starts_with("SAME")) return pads;
  for (std::size_t d = 0; d < rank; ++d) {
    const std::int64_t size = x[d + 2];
    const std::int64_t outputs = (size + strides[d] - 1) / strides[d];
    const std::int64_t extent = dilations[d] * (kernel[d] - 1) + 1;
    const std::int64_t total =
        std::max<std::int64_t>(0, (outputs - 1) * strides[d] + extent - size);
    pads[d] = mode == "SAME_LOWER" ? total - total / 2 : total / 2;
    pads[d + rank] = total - pads[d];
  }
  return pads;
}

std::optional<Dims> OutputsOf(const Node& node, const Dims& x, const Dims& kernel) {
  const auto pads = PadsOf(node, x, kernel);
  if (!pads) return std::nullopt;
  const std::size_t rank = kernel.size();
  const Dims strides = node.IntsOr("strides", Dims(rank, 1));
  const Dims dilations = node.IntsOr("dilations", Dims(rank, 1));
  const bool ceil = node.IntOr("ceil_mode", 0) != 0;
  Dims outputs(rank);
  for (std::size_t d = 0; d < rank; ++d) {
    const std::int64_t padded = x[d + 2] + (*pads)[d] + (*pads)[d + rank];
    const std::int64_t room = padded - (dilations[d] * (kernel[d] - 1) + 1);
    if (room < 0) return std::nullopt;
    outputs[d] = (room + (ceil ? strides[d] - 1 : 0)) / strides[d] + 1;
    // A window that begins in the padding at the end is left out.
    if (ceil && (outputs[d] - 1) * strides[d] >= x[d + 2] + (*pads)[d]) --outputs[d];
  }
  return outputs;
}

std::optional<Windows> Windows::Of(const Node& node, const Dims& x) {
  const bool global = node.op_type.starts_with("Global");
  if (!node.op_type.ends_with("Pool") || x.size() < 3) return std::nullopt;
  Windows windows;
  const std::size_t rank = x.size() - 2;
  windows.size_ = {x.begin() + 2, x.end()};
  windows.kernel_ = global ? windows.size_ : node.IntsOr("kernel_shape", {});
  if (windows.kernel_.size() != rank) return std::nullopt;
  const auto pads = PadsOf(node, x, windows.kernel_);
  const auto outputs = OutputsOf(node, x, windows.kernel_);
  if (!pads || !outputs) return std::nullopt;
  windows.pads_ = *pads;
  windows.outputs_ = *outputs;
  windows.strides_ = node.IntsOr("strides", Dims(rank, 1));
  windows.dilations_ = node.IntsOr("dilations", Dims(rank, 1));
  return windows;
}

std::int64_t Windows::image() const { return Product(size_); }
std::int64_t Windows::outputs() const { return Product(outputs_); }

Window Windows::At(std::int64_t output) const {
  Window window;
  const std::int64_t kernel = Product(kernel_);
  for (std::int64_t k = 0; k < kernel; ++k) {
    std::int64_t element = 0;
    std::int64_t step = 1;
    std::int64_t rest = k;
    std::int64_t at = output;
    bool inside = true;
    bool beyond = false;
    for (std::size_t d = size_.size(); d-- > 0; rest /= kernel_[d], at /= outputs_[d]) {
      const std::int64_t i =
          at % outputs_[d] * strides_[d] + rest % kernel_[d] * dilations_[d] - pads_[d];
      inside = inside && i >= 0 && i < size_[d];
      beyond = beyond || i >= size_[d] + pads_[d + size_.size()];
      element += i * step;
      step *= size_[d];
    }
    if (inside) {
      window.elements.push_back(element);
    } else {
      ++(beyond ? window.beyond : window.padding);
    }
  }
  return window;
}

}  // namespace qtx::conformance
