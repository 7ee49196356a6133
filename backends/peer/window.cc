#include "peer/window.h"

#include <algorithm>
#include <string>

namespace qtx::backend::peer {
namespace {

// Below this no sum or product of two attributes overflows, nor do a library's 32 bits.
constexpr std::int64_t kLargest = std::int64_t{1} << 24;

Result<std::vector<std::int64_t>> Bounded(const Reader& node, const char* name, std::size_t size,
                                          std::int64_t smallest) {
  auto values = node.node().IntsOr(name, std::vector<std::int64_t>(size, smallest));
  const auto too_small = [&](std::int64_t value) { return value < smallest; };
  if (values.size() != size || std::ranges::any_of(values, too_small)) {
    return node.Invalid(std::string(name) + ": expected " + std::to_string(size) + " values from " +
                        std::to_string(smallest));
  }
  if (std::ranges::any_of(values, [](std::int64_t value) { return value > kLargest; })) {
    return node.Unsupported(std::string(name) + ": supported up to 2^24");
  }
  return values;
}

// SAME: out = ceil(in / stride); the odd pad at the end (upper) or the beginning (lower).
void PadSame(Window& w, std::size_t i, std::int64_t in, bool odd_at_end) {
  const std::int64_t out = (in + w.strides[i] - 1) / w.strides[i];
  const std::int64_t reach = (w.kernel[i] - 1) * w.dilations[i] + 1;
  const std::int64_t pads = std::max<std::int64_t>(0, (out - 1) * w.strides[i] + reach - in);
  w.pads_begin[i] = odd_at_end ? pads / 2 : pads - pads / 2;
  w.pads_end[i] = pads - w.pads_begin[i];
}

Result<void> Finish(const Reader& node, Window& w, std::size_t i, std::int64_t in) {
  const std::string auto_pad = node.node().StringOr("auto_pad", "NOTSET");
  if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
    PadSame(w, i, in, auto_pad == "SAME_UPPER");
  } else if (auto_pad == "VALID") {
    w.pads_begin[i] = w.pads_end[i] = 0;
  } else if (auto_pad != "NOTSET") {
    return node.Invalid("auto_pad '" + auto_pad + "'");
  }
  const std::int64_t reach = (w.kernel[i] - 1) * w.dilations[i] + 1;
  const std::int64_t room = w.pads_begin[i] + in + w.pads_end[i] - reach;
  const bool ceil_mode = node.node().IntOr("ceil_mode", 0) != 0;
  // With ceil_mode the first window may reach less than a stride beyond the padding.
  if (room < 0 && !(ceil_mode && room > -w.strides[i])) {
    return node.Invalid("the window is larger than the padded input");
  }
  w.out[i] = room < 0 ? 1 : room / w.strides[i] + 1;
  const bool partial = room > 0 && room % w.strides[i] != 0;
  const bool further = partial && ceil_mode && w.out[i] * w.strides[i] < in + w.pads_begin[i];
  if (further) ++w.out[i];
  if (further || room < 0) w.cut = true;
  // The end padding that the last window really needs, which may be negative.
  w.pads_end[i] = (w.out[i] - 1) * w.strides[i] + reach - in - w.pads_begin[i];
  return {};
}

}  // namespace

bool Window::padded() const {
  const auto positive = [](std::int64_t pad) { return pad > 0; };
  return std::ranges::any_of(pads_begin, positive) || std::ranges::any_of(pads_end, positive);
}

Result<Window> WindowOf(const Reader& node, std::span<const std::int64_t> in,
                        std::vector<std::int64_t> kernel) {
  const std::size_t rank = in.size();
  if (kernel.empty()) kernel = node.node().IntsOr("kernel_shape", {});
  const bool fits =
      kernel.size() == rank && std::ranges::all_of(kernel, [](std::int64_t k) { return k >= 1; });
  if (!fits || node.node().IntsOr("kernel_shape", kernel) != kernel) {
    return node.Invalid("kernel_shape does not fit");
  }
  if (std::ranges::any_of(kernel, [](std::int64_t k) { return k > kLargest; })) {
    return node.Unsupported("kernel_shape: supported up to 2^24");
  }
  Window w{.kernel = std::move(kernel)};
  QTX_ASSIGN_OR_RETURN(w.strides, Bounded(node, "strides", rank, 1));
  QTX_ASSIGN_OR_RETURN(w.dilations, Bounded(node, "dilations", rank, 1));
  QTX_ASSIGN_OR_RETURN(const auto pads, Bounded(node, "pads", 2 * rank, 0));
  const auto middle = pads.begin() + static_cast<std::ptrdiff_t>(rank);
  w.pads_begin.assign(pads.begin(), middle);
  w.pads_end.assign(middle, pads.end());
  w.out.resize(rank);
  for (std::size_t i = 0; i < rank; ++i) QTX_RETURN_IF_ERROR(Finish(node, w, i, in[i]));
  return w;
}

}  // namespace qtx::backend::peer
