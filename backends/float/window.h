// Sliding windows of Conv and the pools over one or two spatial axes, and channels sorted for them.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "float/kernels/kernels.h"
#include "qtx/format/model.h"
#include "qtx/format/result.h"
#include "qtx/format/shape.h"
#include "qtx/format/window.h"

namespace qtx::backend::floats {

using Axis = format::WindowAxis;
using Window = std::array<Axis, 2>;  // rows, columns; a 1-D operator has a single row

/// The window of a node over the spatial sizes `in` (one or two) with kernel sizes `kernel` (as
/// many).  Errors: those of format::WindowAxes, kUnsupported for sizes above 2^24.
Result<Window> WindowOf(const format::Node& node, std::span<const std::int64_t> in,
                        std::span<const std::int64_t> kernel);

/// A channel whose elements are sorted by their coordinates modulo the strides, padding included,
/// so that the elements that one tap takes for consecutive results are contiguous: result
/// (y, x) takes plane[offsets()[tap] + y * pitch() + x].
class Planes {
 public:
  /// Errors: kTooLarge.
  static Result<Planes> For(const Window& window);

  std::int64_t pitch() const { return pitch_; }
  /// Of one channel, in elements, with kMaxLanes at the end that kernels may read.
  std::int64_t size() const { return size_; }
  std::span<const std::int64_t> offsets() const { return offsets_; }
  /// True if a plane equals the channel.
  bool same() const { return same_; }
  void Fill(const Kernels& kernels, const float* channel, float padding, float* plane) const;
  /// One of its parts() alone.
  void FillPart(const Kernels& kernels, const float* channel, float padding, std::int64_t part,
                float* plane) const;
  std::int64_t parts() const { return std::ssize(phases_); }

 private:
  struct Phase {
    std::int64_t y = 0, x = 0;
  };
  Window window_;
  std::vector<Phase> phases_;  // those that a tap takes
  std::vector<std::int64_t> offsets_;
  std::int64_t rows_ = 0, pitch_ = 0, size_ = 0;
  bool same_ = false;
};

}  // namespace qtx::backend::floats
