// Sliding windows of Conv and the pools, as oneDNN and XNNPACK take them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "peer/graph.h"

namespace qtx::backend::peer {

/// One value of each for every spatial axis. `pads_end` reaches as far as the last window does;
/// `cut` says that ceil_mode made it reach past the padding that the model gives.
struct Window {
  std::vector<std::int64_t> kernel, strides, dilations, pads_begin, pads_end, out;
  bool cut = false;
  bool padded() const;
};

/// The window of a node over the spatial sizes `in`; without `kernel` that of kernel_shape.
/// Errors: kUnsupported for sizes above 2^24.
Result<Window> WindowOf(const Reader& node, std::span<const std::int64_t> in,
                        std::vector<std::int64_t> kernel);

}  // namespace qtx::backend::peer
