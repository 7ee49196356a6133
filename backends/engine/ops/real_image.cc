#include "engine/ops/real_image.h"

#include <algorithm>
#include <type_traits>

#include "engine/transpose.h"

namespace qtx::backend::engine {
namespace {

constexpr std::int64_t kElementsPerNanosecond = 4;

void Copy(const Kernels& kernels, const float* from, std::int64_t n, double* to) {
  constexpr std::int64_t kFewest = 16;  // that are worth a call
  if (n >= kFewest) return kernels.widen_floats(from, 1, n, to);
  for (std::int64_t i = 0; i < n; ++i) to[i] = from[i];
}
template <typename Real>
void Copy(const Kernels&, const Real* from, std::int64_t n, Real* to) {
  std::copy_n(from, n, to);
}

}  // namespace

template <typename Real>
double RealImage<Real>::Size() const {
  return static_cast<double>(planes_) * static_cast<double>(Lines()) *
         static_cast<double>(Columns()) * static_cast<double>(cell());
}

// Cells are transposed beyond the image first.
template <typename Real>
std::int64_t RealImage<Real>::Bytes() const {
  const std::int64_t cells = filters_ == 0 ? 0 : y_.input * x_.input * cell();
  return (static_cast<std::int64_t>(Size()) + cells) * static_cast<std::int64_t>(sizeof(Real));
}

template <typename Real>
std::vector<std::int64_t> RealImage<Real>::Offsets() const {
  std::vector<std::int64_t> offsets;
  for (std::int64_t p = 0; p < planes_; ++p) {
    for (std::int64_t i = 0; i < y_.kernel; ++i) {
      for (std::int64_t j = 0; j < x_.kernel; ++j) {
        const std::int64_t column = i * y_.dilation * Columns() + j * x_.dilation;
        offsets.push_back(p * Plane() + column * cell());
      }
    }
  }
  return offsets;
}

template <typename Real>
template <typename T>
void RealImage<Real>::Fill(const Kernels& kernels, Threads& threads, const T* from,
                           std::int64_t group_filters, std::byte* memory) {
  auto* to = reinterpret_cast<Real*>(memory);
  elements_ = to;
  const std::int64_t channel = y_.input * x_.input;
  if (filters_ == 0) {
    if constexpr (std::is_same_v<T, Real>) {
      elements_ = from;  // where there is no padding
      if (Plane() == channel) return;
    }
    elements_ = to;
    FillPlanes(kernels, threads, planes_, from, to);
    return;
  }
  auto* cells = reinterpret_cast<T*>(to + planes_ * Plane());
  for (std::int64_t p = 0; p < planes_; ++p) {
    FillCells(threads, from + p * channel, group_filters, cells);
    FillPlanes(kernels, threads, 1, cells, to + p * Plane());
  }
}

template <typename Real>
template <typename T>
void RealImage<Real>::FillPlanes(const Kernels& kernels, Threads& threads, std::int64_t planes,
                                 const T* from, Real* to) const {
  constexpr std::int64_t kLines = 16;  // of one thread
  const std::int64_t in = x_.input * cell();
  const std::int64_t before = x_.pad_begin * cell();
  const std::int64_t after = x_.pad_end * cell();
  const std::int64_t lines = planes * Lines();
  threads.For((lines + kLines - 1) / kLines, planes * Plane() / kElementsPerNanosecond,
              [&](std::int64_t block) {
                const std::int64_t first = block * kLines;
                std::int64_t line = first % Lines() - y_.pad_begin;
                const T* plane = from + first / Lines() * y_.input * in;
                Real* out = to + first * Columns() * cell();
                for (std::int64_t i = first; i < std::min(first + kLines, lines); ++i) {
                  if (line < 0 || line >= y_.input) {
                    out = std::fill_n(out, before + in + after, Real{0});
                  } else {
                    out = std::fill_n(out, before, Real{0});
                    Copy(kernels, plane + line * in, in, out);
                    out = std::fill_n(out + in, after, Real{0});
                  }
                  if (++line < Lines() - y_.pad_begin) continue;
                  line = -y_.pad_begin;
                  plane += y_.input * in;
                }
              });
}

// Of one plane, without padding.
template <typename Real>
template <typename T>
void RealImage<Real>::FillCells(Threads& threads, const T* from, std::int64_t group_filters,
                                T* to) const {
  constexpr std::int64_t kFilters = 16;  // of one thread
  const std::int64_t size = y_.input * x_.input;
  const std::int64_t blocks = (cell() + kFilters - 1) / kFilters;
  threads.For(blocks, size * cell() / kElementsPerNanosecond, [&](std::int64_t block) {
    const std::int64_t first = block * kFilters;
    const std::int64_t end = std::min(first + kFilters, cell());
    for (std::int64_t m = first; m < end;) {
      // The last cells have no filter: any element will do.
      const std::int64_t group = std::min(m, filters_ - 1) / group_filters;
      const std::int64_t rows =
          group_filters == 1 && m < filters_ ? std::min(end, filters_) - m : 1;
      const StridedMatrix matrix{rows, size, planes_ * size};
      TransposeMatrix(reinterpret_cast<const std::byte*>(from + group * planes_ * size), matrix,
                      sizeof(T), reinterpret_cast<std::byte*>(to + m), cell());
      m += rows;
    }
  });
}

template class RealImage<double>;
template void RealImage<double>::Fill(const Kernels&, Threads&, const float*, std::int64_t,
                                      std::byte*);
template void RealImage<double>::Fill(const Kernels&, Threads&, const double*, std::int64_t,
                                      std::byte*);
template class RealImage<float>;
template void RealImage<float>::Fill(const Kernels&, Threads&, const float*, std::int64_t,
                                     std::byte*);

}  // namespace qtx::backend::engine
