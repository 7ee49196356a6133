// Constant weights with their offsets taken off, and the channels they requantize to.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/plan.h"

namespace qtx::backend::engine {

struct Weights {
  std::vector<std::int16_t> values;  // stored - offset, in the tensor's own order
  std::vector<double> scale;         // one a channel
  std::int32_t largest = 0;          // magnitude
  bool fits_int8 = false;
};

/// Input `i`, a constant quantized tensor of integers of at most 8 bits, per tensor or per axis
/// `channel_axis` (-1: one channel, per tensor only). Errors: kUnsupported for anything else.
Result<Weights> LoadWeights(const NodePlan& plan, std::size_t i, std::int64_t channel_axis);

/// Channels of x * w + b: scale = x_scale * weights.scale[c] * alpha; bias from input `bias_input`
/// (INT32Q or FLOAT with `channels` elements, or one) times beta; none when that input is absent.
/// Errors: kUnsupported for another bias.
Result<std::vector<Channel>> MakeChannels(const NodePlan& plan, double x_scale,
                                          const Weights& weights, std::int64_t channels,
                                          std::size_t bias_input, float alpha = 1, float beta = 1);

}  // namespace qtx::backend::engine
