#include "float/window.h"

#include <algorithm>

#include "float/operator.h"

namespace qtx::backend::floats {
namespace {

// Limit on attributes, so that no sum or product of two of them overflows.
constexpr std::int64_t kLargestAttribute = std::int64_t{1} << 24;
constexpr std::int64_t kMostPadding = std::int64_t{1} << 48;  // that auto_pad comes to

std::int64_t CeilDivideOrZero(std::int64_t a, std::int64_t b) {
  return a <= 0 ? 0 : (a + b - 1) / b;
}

// The last element that a window takes along the axis, in elements of one phase.
std::int64_t Reach(const Axis& axis) { return (axis.kernel - 1) * axis.dilation / axis.stride; }

}  // namespace

Result<Window> WindowOf(const format::Node& node, std::span<const std::int64_t> in,
                        std::span<const std::int64_t> kernel) {
  QTX_ASSIGN_OR_RETURN(const std::vector<Axis> axes, format::WindowAxes(node, in, kernel));
  Window window;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const Axis& axis = axes[i];
    if (axis.input < 1) return Unsupported("an axis without elements");
    if (std::max({axis.kernel, axis.stride, axis.dilation}) > kLargestAttribute) {
      return Unsupported("kernels, strides and dilations are supported up to 2^24");
    }
    if (std::max(axis.pad_begin, axis.pad_end) > kMostPadding)
      return Unsupported("pads this large");
    window[2 - axes.size() + i] = axis;
  }
  return window;
}

Result<Planes> Planes::For(const Window& window) {
  const auto& [y, x] = window;
  Planes planes;
  planes.window_ = window;
  planes.rows_ = y.output + Reach(y);
  planes.pitch_ = x.output + Reach(x);
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
  planes.same_ = planes.rows_ == y.input && planes.pitch_ == x.input && y.stride == 1 &&
                 x.stride == 1 && y.pad_begin == 0 && x.pad_begin == 0;
  if (planes.same_) planes.size_ = y.input * x.input;
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
      std::clamp(CeilDivideOrZero(x_axis.input + shift, x_axis.stride), begin, pitch_);
  plane += part * rows_ * pitch_;
  for (std::int64_t r = 0; r < rows_; ++r, plane += pitch_) {
    const std::int64_t y = r * y_axis.stride + phase.y - y_axis.pad_begin;
    PlaneRow row{.step = x_axis.stride, .out = plane, .before = pitch_, .padding = padding};
    if (y >= 0 && y < y_axis.input) {
      row.from = channel + y * x_axis.input + begin * x_axis.stride - shift;
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
