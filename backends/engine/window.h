// Sliding windows of Conv and the pools, whose geometry is the format's: how long their axes may be
// here, and which elements of the input each window takes.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/plan.h"
#include "qtx/format/window.h"

namespace qtx::backend::engine {

using format::WindowAxis;

/// The input with its padding.
inline std::int64_t PaddedSize(const WindowAxis& axis) {
  return axis.pad_begin + axis.input + axis.pad_end;
}

/// Taps of one output position along one axis that lie inside the input: `count` of them, of which
/// tap `tap` of the kernel is the first, at input coordinates first, first + step, .. below end.
struct Taps {
  std::int64_t first = 0, end = 0, step = 1;
  std::int64_t tap = 0, count = 0;
  std::int64_t counted = 0;  // inside input and padding; what ceil_mode adds past that never counts
};
Taps TapsAt(const WindowAxis& axis, std::int64_t out);

/// Rows and columns; a 1-D operator has a single row.
struct Window {
  WindowAxis y, x;
};

/// Axes that are not too long here: no sum or product of two of their members overflows.
/// Errors: those of `axes`; kUnsupported above 2^28 positions in an axis, 2^24 elements of a
/// kernel.
Result<std::vector<WindowAxis>> WithinLimits(const NodePlan& plan,
                                             Result<std::vector<WindowAxis>> axes);
/// The axes of the window of `plan` over the spatial `dims` with the given kernel sizes (as many).
/// Errors: as above.
Result<std::vector<WindowAxis>> WindowAxesOf(const NodePlan& plan,
                                             std::span<const std::int64_t> dims,
                                             std::span<const std::int64_t> kernel);

/// One or two axes as a window.  Errors: kUnsupported for another number of them.
Result<Window> WindowOf(const NodePlan& plan, std::span<const WindowAxis> axes);

/// Dims of the output: batch, channels, then the spatial ones.
format::Dims OutputDims(std::span<const WindowAxis> axes, std::int64_t batch,
                        std::int64_t channels);

}  // namespace qtx::backend::engine
