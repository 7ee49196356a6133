// Constants as stored integers: weights with parameters per tensor, axis or block; biases in the
// unit of the accumulator.
#pragma once

#include <span>
#include <vector>

#include "block_scales.h"
#include "operators.h"
#include "qtx/format/tensor.h"
#include "qtx/quantize/quantize.h"

namespace qtx::quantize {

struct StoredConstant {
  format::Tensor tensor;              // of the quantized type
  std::vector<ChosenRange> ranges;    // one for each parameter
  std::optional<BlockScales> levels;  // of which tensor.quantization has the products
};

/// How weights are rounded: to nearest without sums, else by GPTQ (gptq.h), and with `descends` by
/// coordinate descent from there (descent.h).
struct WeightRounding {
  const Gram* gram = nullptr;  // of as many columns as weights make an output, for each group
  bool descends = false;
  bool by_diagonal = false;  // GPTQ in the order of ByDiagonal
};

/// `weights` (FLOAT) by `settings`; where they have no such axis, per tensor. `least_scales`: for
/// each output channel a scale that must not be fallen below, or empty.
/// By GPTQ the scales of a block are those of its weights as they are when its turn comes, or, with
/// `by_diagonal`, where blocks have no turns, before any is rounded; others those of the weights.
/// Errors: kInvalid for a value that is not finite; those of RangeOf, ChooseParameters and
/// RoundRows.
Result<StoredConstant> StoreWeights(const format::Tensor& weights, const Settings& settings,
                                    const WeightAxes& axes, std::span<const float> least_scales,
                                    const WeightRounding& rounding = {});

/// The reals of stored values, each rounded to binary32.
format::Tensor Dequantized(const format::Tensor& stored);

/// A constant operand with given parameters.  Errors: kInvalid for a value that is not finite.
Result<format::Tensor> StoreConstant(const format::Tensor& real, const TypeSpec& spec,
                                     const Parameters& parameters);

/// The least scale of the weights with which each value of the bias fits 32 bits in units of
/// x_scale * w_scale, and that product is a normal binary32. A weight that is stored in fewer of
/// its integers costs little beside a bias 2^23 times as large.
/// Source: onnxruntime, quantization/onnx_quantizer.py, _adjust_weight_scale_for_int32_bias.
std::vector<float> LeastWeightScales(const format::Tensor& bias, float x_scale);

/// `bias` (FLOAT, one value a channel along `axis`) as INT32 in units of x_scale * w_scale, the
/// product rounded to binary32; each value half to even from the exact quotient.
/// REQUIRES: w_scales has one value, or one a channel; LeastWeightScales was kept to.
format::Tensor StoreBias(const format::Tensor& bias, float x_scale, std::span<const float> w_scales,
                         std::int64_t axis);

}  // namespace qtx::quantize
