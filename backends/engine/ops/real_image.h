// The image that FLOAT convolutions read, padded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/kernels.h"
#include "engine/ops/real_panels.h"
#include "engine/threads.h"
#include "engine/window.h"

namespace qtx::backend::engine {

/// [plane][padded line][padded column][cell]. With cells of one element, a plane is a channel,
/// which all filters of a group read. Otherwise element m of a cell is what filter m reads: of
/// plane p, channel p of its group. Real: double or float.
template <typename Real>
class RealImage {
 public:
  /// `filters`: of a cell; 0: cells of one element.
  RealImage(const Window& window, std::int64_t planes, std::int64_t filters)
      : y_(window.y),
        x_(window.x),
        planes_(planes),
        filters_(filters),
        cell_(filters == 0 ? 1 : PanelWidth<Real>(filters)) {}

  /// Elements of the image.
  double Size() const;
  std::int64_t Bytes() const;
  std::int64_t cell() const { return cell_; }
  /// The distance of each of a window's elements from its first, in the order of the weights.
  std::vector<std::int64_t> Offsets() const;
  /// The first elements of the windows at `count` output positions from `first` on.
  void Windows(std::int64_t first, std::int64_t count, const Real** windows) const {
    std::int64_t column = first % x_.output;
    const Real* line = elements_ + first / x_.output * y_.stride * Columns() * cell();
    for (std::int64_t i = 0; i < count; ++i) {
      windows[i] = line + column * x_.stride * cell();
      if (++column < x_.output) continue;
      column = 0;
      line += y_.stride * Columns() * cell();
    }
  }

  /// Takes planes of one group, or, where cells have an element for each of several filters of a
  /// group, those of all groups.  `memory`: Bytes(), for one run. T: float or Real.
  template <typename T>
  void Fill(const Kernels& kernels, Threads& threads, const T* from, std::int64_t group_filters,
            std::byte* memory);

 private:
  std::int64_t Lines() const { return PaddedSize(y_); }
  std::int64_t Columns() const { return PaddedSize(x_); }
  std::int64_t Plane() const { return Lines() * Columns() * cell(); }
  template <typename T>
  void FillPlanes(const Kernels& kernels, Threads& threads, std::int64_t planes, const T* from,
                  Real* to) const;
  template <typename T>
  void FillCells(Threads& threads, const T* from, std::int64_t group_filters, T* to) const;

  WindowAxis y_, x_;
  std::int64_t planes_, filters_, cell_;
  const Real* elements_ = nullptr;
};

}  // namespace qtx::backend::engine
