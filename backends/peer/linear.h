// The scales of Conv, Gemm and MatMul on bytes, as integer kernels take them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "peer/graph.h"

namespace qtx::backend::peer {

/// result = (accumulator + bias) * scale, accumulator = sum of (x - x_offset) * (w - w_offset).
struct Linear {
  std::vector<float> weight_scales;  // one, or one per output channel
  std::int32_t weight_offset = 0;
  std::vector<float> scales;  // x_scale * w_scale / y_scale, as many; y_scale is 1 for a FLOAT y
  std::vector<std::int32_t> bias;  // at scale x_scale * w_scale, half_even; empty: none
  std::vector<float> real_bias;    // at the same scale, where the bias has another or is FLOAT
};

/// `channel_axis` is that of the outputs in w; b may be nullptr.
/// Errors: kUnsupported for other types and granularities than integer kernels have: x and w of 8
/// bits, x with one scale, w with one offset, y of 8 bits, INT32Q or FLOAT.
Result<Linear> LinearOf(const Reader& node, const Value& x, const Value& w, const Value* b,
                        const Value& y, std::int64_t channel_axis);

}  // namespace qtx::backend::peer
