// Sliding windows of Conv and the pools: the limits of the engine on their sizes, and the input
// elements of each window. Their geometry is that of qtx/format/window.h.
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

/// The `count` taps of one output position along one axis that are inside the input. The first is
/// element `tap` of the kernel; their input coordinates are first, first + step, .. below end.
struct Taps {
  std::int64_t first = 0, end = 0, step = 1;
  std::int64_t tap = 0, count = 0;
  std::int64_t counted = 0;  // taps inside input and padding; not those that ceil_mode adds beyond
};
Taps TapsAt(const WindowAxis& axis, std::int64_t out);

/// Rows and columns; a 1-D operator has a single row.
struct Window {
  WindowAxis y, x;
};

/// `axes` if they are within the limits of the engine, so that no sum or product of two of their
/// members overflows.  Errors: those of `axes`; kUnsupported above 2^28 positions in an axis or
/// 2^24 elements of a kernel.
Result<std::vector<WindowAxis>> WithinLimits(const NodePlan& plan,
                                             Result<std::vector<WindowAxis>> axes);
/// The window of `plan` over the spatial sizes `dims`, with as many kernel sizes.  Errors: as
/// above.
Result<std::vector<WindowAxis>> WindowAxesOf(const NodePlan& plan,
                                             std::span<const std::int64_t> dims,
                                             std::span<const std::int64_t> kernel);

/// One or two axes as a window.  Errors: kUnsupported for another number of them.
Result<Window> WindowOf(const NodePlan& plan, std::span<const WindowAxis> axes);

/// Dims of the output: batch, channels, then the spatial ones.
format::Dims OutputDims(std::span<const WindowAxis> axes, std::int64_t batch,
                        std::int64_t channels);

}  // namespace qtx::backend::engine
