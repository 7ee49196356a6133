// Constant weights with their offsets taken off, and the channels they requantize to.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "engine/pack.h"
#include "engine/plan.h"

namespace qtx::backend::engine {

/// Padded images and matrices have at most this many elements, rows of products this depth: what
/// keeps offsets within int32 and sums within 2^52.
inline constexpr std::int64_t kMostOperands = std::int64_t{1} << 28;
inline constexpr std::int64_t kMostDepth = std::int64_t{1} << 21;
/// A sum may begin with this much: products leave room for it in int32.
inline constexpr double kLargestAddend = 0x1p30;

/// What activations may be as operands of a product, and which of them means real zero.
struct OperandRange {
  std::int32_t min = 0, max = 0, zero = 0;

  std::int32_t Magnitude() const { return std::max(-min, max); }
  /// Bytes of a buffer.
  static OperandRange OfBytes(const PerTensor& type, const Kernels& kernels);
  /// The same less their offset.
  static OperandRange OfWidened(const PerTensor& type, const Kernels& kernels);
  static OperandRange OfWords() { return {-32768, 32767, 0}; }
};

struct Weights {
  std::vector<std::int16_t> values;  // stored - offset, in the tensor's own order
  std::vector<double> scale;         // one a channel
};

/// Parameters of input `i` of INT16Q with offset 0.  Errors: kUnsupported for anything else.
Result<PerTensor> SixteenBitInput(const NodePlan& plan, std::size_t i);

/// Biases that are multiples of their accumulator's unit, taken off the channels: to be added to
/// the integer sums instead. 0 for a channel that keeps its bias.
std::vector<std::int32_t> TakeIntegerBias(std::vector<Channel>& channels);

/// Whether `packed` is the faster form of a matrix [depth, columns] for `rows` rows, where the
/// other is words. It is, unless pair_limit made it split too many of its weights.
bool PaysAsBytes(const Kernels& kernels, const PackedWeights<std::int8_t>& packed,
                 std::int64_t depth, std::int64_t columns, std::int64_t rows);

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
