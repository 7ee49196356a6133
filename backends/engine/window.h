// Sliding windows of Conv and the pools: kernel_shape, strides, dilations, pads, auto_pad.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/plan.h"

namespace qtx::backend::engine {

/// One spatial axis.
struct WindowAxis {
  std::int64_t in = 1, kernel = 1, stride = 1, dilation = 1, pad_begin = 0, pad_end = 0, out = 1;
  std::int64_t padded() const { return pad_begin + in + pad_end; }
};

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

/// The axes of the window of `plan` over the spatial `dims` with the given kernel sizes (as many).
/// `ceil_mode` extends the end padding so that partial windows count, as ONNX's pools say.
/// Errors: kInvalid for attributes that do not fit, kUnsupported above 2^28 positions in an axis.
Result<std::vector<WindowAxis>> WindowAxesOf(const NodePlan& plan,
                                             std::span<const std::int64_t> dims,
                                             std::span<const std::int64_t> kernel);

/// One or two axes as a window.  Errors: kUnsupported for another number of them.
Result<Window> WindowOf(const NodePlan& plan, std::span<const WindowAxis> axes);

/// Dims of the output: batch, channels, then the spatial ones.
format::Dims OutputDims(std::span<const WindowAxis> axes, std::int64_t batch,
                        std::int64_t channels);

}  // namespace qtx::backend::engine
