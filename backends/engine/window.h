// Sliding windows of Conv and the pools: kernel_shape, strides, dilations, pads, auto_pad.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "engine/plan.h"

namespace qtx::backend::engine {

/// One spatial axis.
struct WindowAxis {
  std::int64_t in = 1, kernel = 1, stride = 1, dilation = 1, pad_begin = 0, pad_end = 0, out = 1;
  std::int64_t padded() const { return pad_begin + in + pad_end; }
};

/// Rows and columns; a 1-D operator has a single row.
struct Window {
  WindowAxis y, x;
  int spatial_rank = 2;
};

/// The window of `plan` over the spatial `dims` with the given kernel sizes (as many).
/// `ceil_mode` extends the end padding so that partial windows count, as ONNX's pools say.
/// Errors: kUnsupported for a spatial rank other than 1 or 2, kInvalid for attributes that do not
/// fit.
Result<Window> WindowOf(const NodePlan& plan, std::span<const std::int64_t> dims,
                        std::span<const std::int64_t> kernel);

/// Dims of the output: batch, channels, then the spatial ones.
format::Dims OutputDims(const Window& window, std::int64_t batch, std::int64_t channels);

}  // namespace qtx::backend::engine
