#include "float/window.h"

#include <algorithm>
#include <string>

#include "float/operator.h"

namespace qtx::backend::floats {
namespace {

// Larger attributes have no use; below this no sum or product of two of them overflows.
constexpr std::int64_t kLargestAttribute = std::int64_t{1} << 24;

Result<std::vector<std::int64_t>> Bounded(const format::Node& node, const char* name,
                                          std::size_t size, std::int64_t fallback) {
  auto values = node.IntsOr(name, std::vector<std::int64_t>(size, fallback));
  if (values.size() != size) {
    return Invalid(std::string(name) + ": found " + std::to_string(values.size()) +
                   " values, expected " + std::to_string(size));
  }
  for (const std::int64_t value : values) {
    const std::string found = std::string(name) + ": found " + std::to_string(value);
    if (value < fallback) return Invalid(found + ", expected at least " + std::to_string(fallback));
    if (value > kLargestAttribute) return Unsupported(found + ", supported up to 2^24");
  }
  return values;
}

// SAME: out = ceil(in / stride), the odd pad at the end (upper) or the beginning (lower).
Result<void> SetPads(const std::string& auto_pad, Axis& axis) {
  if (auto_pad == "NOTSET") return {};
  if (auto_pad == "VALID") {
    axis.pad_begin = axis.pad_end = 0;
    return {};
  }
  if (auto_pad != "SAME_UPPER" && auto_pad != "SAME_LOWER") {
    return Invalid("auto_pad '" + auto_pad + "'");
  }
  const std::int64_t out = (axis.in + axis.stride - 1) / axis.stride;
  const std::int64_t reach = (axis.kernel - 1) * axis.dilation + 1;
  const std::int64_t pads = std::max<std::int64_t>(0, (out - 1) * axis.stride + reach - axis.in);
  axis.pad_begin = auto_pad == "SAME_UPPER" ? pads / 2 : pads - pads / 2;
  axis.pad_end = pads - axis.pad_begin;
  return {};
}

Result<void> SetOut(bool ceil_mode, Axis& axis) {
  const std::int64_t reach = (axis.kernel - 1) * axis.dilation + 1;
  const std::int64_t room = axis.pad_begin + axis.in + axis.pad_end - reach;
  // With ceil_mode the first window may reach less than a stride beyond the padding.
  if (room < 0 && !(ceil_mode && room > -axis.stride)) {
    return Invalid("the window is larger than the padded input");
  }
  axis.out = room < 0 ? 1 : room / axis.stride + 1;
  // A further window counts only if it starts inside the input or its begin padding.
  if (ceil_mode && room > 0 && room % axis.stride != 0 &&
      axis.out * axis.stride < axis.in + axis.pad_begin) {
    ++axis.out;
  }
  return {};
}

std::int64_t CeilDivideOrZero(std::int64_t a, std::int64_t b) {
  return a <= 0 ? 0 : (a + b - 1) / b;
}

// The last element that a window takes along the axis, in elements of one phase.
std::int64_t Reach(const Axis& axis) { return (axis.kernel - 1) * axis.dilation / axis.stride; }

}  // namespace

Result<Window> WindowOf(const format::Node& node, std::span<const std::int64_t> in,
                        std::span<const std::int64_t> kernel) {
  const std::size_t rank = in.size();
  const auto declared = node.IntsOr("kernel_shape", {kernel.begin(), kernel.end()});
  if (!std::ranges::equal(declared, kernel)) return Invalid("kernel_shape is not the weights'");
  QTX_ASSIGN_OR_RETURN(const auto strides, Bounded(node, "strides", rank, 1));
  QTX_ASSIGN_OR_RETURN(const auto dilations, Bounded(node, "dilations", rank, 1));
  QTX_ASSIGN_OR_RETURN(const auto pads, Bounded(node, "pads", 2 * rank, 0));
  Window window;
  for (std::size_t i = 0; i < rank; ++i) {
    if (kernel[i] < 1 || in[i] < 1) return Invalid("an empty window or input");
    if (kernel[i] > kLargestAttribute) return Unsupported("a kernel this long");
    Axis& axis = window[2 - rank + i];
    axis = {in[i], kernel[i], strides[i], dilations[i], pads[i], pads[rank + i], 1};
    QTX_RETURN_IF_ERROR(SetPads(node.StringOr("auto_pad", "NOTSET"), axis));
    QTX_RETURN_IF_ERROR(SetOut(node.IntOr("ceil_mode", 0) != 0, axis));
  }
  return window;
}

Result<Planes> Planes::For(const Window& window) {
  const auto& [y, x] = window;
  Planes planes;
  planes.window_ = window;
  planes.rows_ = y.out + Reach(y);
  planes.pitch_ = x.out + Reach(x);
  QTX_RETURN_IF_ERROR(format::ElementCount(std::vector{y.kernel, x.kernel, y.stride, x.stride}));
  const std::vector per_phase = {planes.rows_, planes.pitch_};
  QTX_ASSIGN_OR_RETURN(const std::int64_t phase_size, format::ElementCount(per_phase));
  for (std::int64_t ky = 0; ky < y.kernel; ++ky) {
    for (std::int64_t kx = 0; kx < x.kernel; ++kx) {
      const std::int64_t at_y = ky * y.dilation;
      const std::int64_t at_x = kx * x.dilation;
      const Phase phase{at_y % y.stride, at_x % x.stride};
      const auto found = std::ranges::find_if(
          planes.phases_, [&](const Phase& p) { return p.y == phase.y && p.x == phase.x; });
      const std::int64_t index = found - planes.phases_.begin();
      if (found == planes.phases_.end()) planes.phases_.push_back(phase);
      planes.offsets_.push_back(index * phase_size + at_y / y.stride * planes.pitch_ +
                                at_x / x.stride);
    }
  }
  const std::vector all = {static_cast<std::int64_t>(planes.phases_.size()), phase_size};
  QTX_ASSIGN_OR_RETURN(planes.size_, format::ElementCount(all));
  planes.size_ += kMaxLanes;
  planes.same_ = planes.rows_ == y.in && planes.pitch_ == x.in && y.stride == 1 && x.stride == 1 &&
                 y.pad_begin == 0 && x.pad_begin == 0;
  if (planes.same_) planes.size_ = y.in * x.in;
  return planes;
}

void Planes::FillPart(const Kernels& kernels, const float* channel, float padding,
                      std::int64_t part, float* plane) const {
  const auto& [y_axis, x_axis] = window_;
  const Phase& phase = phases_[static_cast<std::size_t>(part)];
  // Columns begin .. end - 1 are those c with 0 <= c * stride + phase - pad < in.
  const std::int64_t shift = x_axis.pad_begin - phase.x;
  const std::int64_t begin = std::min(pitch_, CeilDivideOrZero(shift, x_axis.stride));
  const std::int64_t end =
      std::clamp(CeilDivideOrZero(x_axis.in + shift, x_axis.stride), begin, pitch_);
  plane += part * rows_ * pitch_;
  for (std::int64_t r = 0; r < rows_; ++r, plane += pitch_) {
    const std::int64_t y = r * y_axis.stride + phase.y - y_axis.pad_begin;
    PlaneRow row{.step = x_axis.stride, .out = plane, .before = pitch_, .padding = padding};
    if (y >= 0 && y < y_axis.in) {
      row.from = channel + y * x_axis.in + begin * x_axis.stride - shift;
      row.before = begin;
      row.count = end - begin;
      row.after = pitch_ - end;
    }
    kernels.fill(row);
  }
}

void Planes::Fill(const Kernels& kernels, const float* channel, float padding, float* plane) const {
  for (std::int64_t part = 0; part < parts(); ++part) {
    FillPart(kernels, channel, padding, part, plane);
  }
}

}  // namespace qtx::backend::floats
