#include "engine/ops/real_image.h"

#include <algorithm>

namespace qtx::backend::engine {
namespace {

std::int64_t CeilDivide(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// The padded elements that windows read.
std::int64_t Reach(const WindowAxis& axis) {
  return (axis.output - 1) * axis.stride + (axis.kernel - 1) * axis.dilation + 1;
}

void Copy(const Kernels& kernels, const float* from, std::int64_t step, std::int64_t n,
          double* to) {
  kernels.widen_floats(from, step, n, to);
}
template <typename Real>
void Copy(const Kernels&, const Real* from, std::int64_t step, std::int64_t n, Real* to) {
  if (step == 1) {
    std::copy_n(from, n, to);
    return;
  }
  for (std::int64_t i = 0; i < n; ++i) to[i] = from[i * step];
}

}  // namespace

template <typename Real>
RealImage<Real>::RealImage(const Window& window, std::int64_t channels, bool unrolled)
    : y_(window.y),
      x_(window.x),
      channels_(channels),
      unrolled_(unrolled),
      parts_(unrolled ? x_.kernel : x_.stride),
      lines_(CeilDivide(Reach(y_), y_.stride)),
      columns_(unrolled ? x_.output : CeilDivide(Reach(x_), x_.stride)) {}

template <typename Real>
double RealImage<Real>::Size() const {
  return static_cast<double>(channels_) * static_cast<double>(y_.stride) *
         static_cast<double>(parts_) * static_cast<double>(lines_) * static_cast<double>(columns_);
}

template <typename Real>
std::vector<std::int64_t> RealImage<Real>::Offsets() const {
  std::vector<std::int64_t> offsets;
  for (std::int64_t c = 0; c < channels_; ++c) {
    for (std::int64_t i = 0; i < y_.kernel; ++i) {
      for (std::int64_t j = 0; j < x_.kernel; ++j) {
        const std::int64_t column = j * x_.dilation;
        const std::int64_t part = unrolled_ ? j : column % x_.stride;
        offsets.push_back(LineAt(c, i * y_.dilation, part) + (unrolled_ ? 0 : column / x_.stride));
      }
    }
  }
  return offsets;
}

template <typename Real>
void RealImage<Real>::Begin(std::byte* memory) {
  elements_ = reinterpret_cast<Real*>(memory);
  std::fill_n(elements_ + static_cast<std::int64_t>(Size()), kBeyond, Real{0});
}

template <typename Real>
template <typename T>
void RealImage<Real>::Fill(const Kernels& kernels, std::int64_t channel, const T* from) {
  for (std::int64_t line = 0; line < lines_ * y_.stride; ++line) {
    const std::int64_t i = line - y_.pad_begin;
    const bool inside = i >= 0 && i < y_.input && line < Reach(y_);
    FillLine(kernels, channel, line, inside ? from + i * x_.input : nullptr);
  }
}

// One padded line of every part, zero where `from` is nullptr. Element `begin` + k * stride of the
// input is at column k of a part.
template <typename Real>
template <typename T>
void RealImage<Real>::FillLine(const Kernels& kernels, std::int64_t channel, std::int64_t line,
                               const T* from) {
  for (std::int64_t part = 0; part < parts_; ++part) {
    Real* to = elements_ + LineAt(channel, line, part);
    const std::int64_t begin = (unrolled_ ? part * x_.dilation : part) - x_.pad_begin;
    const std::int64_t first = begin >= 0 ? 0 : std::min(CeilDivide(-begin, x_.stride), columns_);
    const std::int64_t left = x_.input - begin;
    const std::int64_t end =
        left <= 0 ? first : std::clamp(CeilDivide(left, x_.stride), first, columns_);
    if (from == nullptr || first == end) {
      std::fill_n(to, columns_, Real{0});
      continue;
    }
    std::fill(to, to + first, Real{0});
    Copy(kernels, from + begin + first * x_.stride, x_.stride, end - first, to + first);
    std::fill(to + end, to + columns_, Real{0});
  }
}

template class RealImage<double>;
template void RealImage<double>::Fill(const Kernels&, std::int64_t, const float*);
template void RealImage<double>::Fill(const Kernels&, std::int64_t, const double*);
template class RealImage<float>;
template void RealImage<float>::Fill(const Kernels&, std::int64_t, const float*);

// In elements that are multiplied, of which a cycle does eight: copying an element takes about as
// long as eight of them, copying a line's results to y as two an element and sixteen a line.
bool IsUnrollingWorthIt(const Window& window, std::int64_t channels, std::int64_t filters) {
  const RealImage<double> phased(window, channels, false);
  const RealImage<double> unrolled(window, channels, true);
  const auto rows = static_cast<double>(filters * window.y.output);
  const auto products = rows * static_cast<double>(channels * window.y.kernel * window.x.kernel);
  const auto width = static_cast<double>(window.x.output);
  const double saved =
      products * (static_cast<double>(phased.columns()) - width) + rows * (2 * width + 16);
  return saved > 8 * (unrolled.Size() - phased.Size());
}

}  // namespace qtx::backend::engine
