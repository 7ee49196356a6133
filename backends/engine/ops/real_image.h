// The image that FLOAT convolutions read: one group's channels, padded, so that the elements which
// neighbouring positions read lie beside each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/kernels.h"
#include "engine/window.h"

namespace qtx::backend::engine {

/// [channel][phase of y][part][line][column]. A part is a phase of x, whose lines are padded and
/// which taps share; or, unrolled, a tap of x, whose lines have the elements that the output's
/// positions read and no others. Positions of windows are counted along the lines of a part.
/// Real: double or float.
template <typename Real>
class RealImage {
 public:
  /// Memory beyond the last position that kernels may read, in elements.
  static constexpr std::int64_t kBeyond = kMaxRealColumns;

  RealImage(const Window& window, std::int64_t channels, bool unrolled);

  /// Elements that windows may read, with those at which no window begins.
  double Size() const;
  std::int64_t columns() const { return columns_; }
  std::int64_t Bytes() const {
    return (static_cast<std::int64_t>(Size()) + kBeyond) * static_cast<std::int64_t>(sizeof(Real));
  }
  /// The distance of each of a window's elements from its first, in the order of the weights.
  std::vector<std::int64_t> Offsets() const;

  /// Takes Bytes() of memory for one run. All channels are to be filled before data() is read.
  void Begin(std::byte* memory);
  const Real* data() const { return elements_; }
  /// Copies one channel of the input. Several threads may fill different ones.
  /// T: float or Real.
  template <typename T>
  void Fill(const Kernels& kernels, std::int64_t channel, const T* from);

 private:
  template <typename T>
  void FillLine(const Kernels& kernels, std::int64_t channel, std::int64_t line, const T* from);
  std::int64_t LineAt(std::int64_t channel, std::int64_t line, std::int64_t part) const {
    const std::int64_t plane = (channel * y_.stride + line % y_.stride) * parts_ + part;
    return (plane * lines_ + line / y_.stride) * columns_;
  }

  WindowAxis y_, x_;
  std::int64_t channels_;
  bool unrolled_;
  std::int64_t parts_, lines_, columns_;
  Real* elements_ = nullptr;
};

/// Unrolled where that saves more than it costs to copy elements for several taps.
bool IsUnrollingWorthIt(const Window& window, std::int64_t channels, std::int64_t filters);

}  // namespace qtx::backend::engine
