// The factors by which AWQ multiplies the weights of each input channel.
// Source: Lin et al., "AWQ: Activation-aware Weight Quantization for LLM Compression and
// Acceleration", arXiv:2306.00978, section 3.2, and its code (auto_scale.py; AutoAWQ, quantizer.py,
// duo_scaling). Computed in binary64 in a fixed order, so that the bits do not depend on the
// machine.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "operators.h"
#include "qtx/format/tensor.h"
#include "qtx/quantize/quantize.h"

namespace qtx::quantize {

/// A product with the value whose channels are scaled.
struct ScaledProduct {
  format::Tensor weights;
  Settings settings;  // how they are stored
  WeightAxes axes;
  Gram gram;  // of as many columns as weights make an output, for each group
  std::int64_t groups = 1;
  std::int64_t elements = 1;  // of a channel in a row: those of a Conv's kernel

  /// The place of row k of a group in the weights of one of its outputs.
  std::size_t At(std::int64_t k, std::int64_t output) const;
  std::int64_t Outputs() const { return weights.dims[static_cast<std::size_t>(*axes.output)]; }
  /// The channel of row k of a group.
  std::int64_t Channel(std::int64_t k, std::int64_t group) const {
    return group * (gram.size / elements) + k / elements;
  }
};

struct ChannelFactors {
  std::vector<float> factors;  // one a channel
  double alpha = 0;
  bool by_weights = false;  // divided by what weights have to the power of 1 - alpha
  double left = 1;          // the error over that without factors
};

/// The weights of each channel multiplied by its factor, each rounded once.
format::Tensor Scaled(const ScaledProduct& product, std::span<const float> factors);

/// Of s = x^alpha and s = x^alpha / w^(1 - alpha), alpha = 0, 0.05, ... 1, over the root of the
/// product of its extremes, the one that leaves the least sum of tr (W' - W)^T H (W' - W) over all
/// products, W' being s^-1 times what is stored of s W to nearest. x is the root of the mean square
/// of a channel, as the diagonal of H has it; w the mean of its weights' magnitudes, each over the
/// greatest of those that share its scale. Neither counts as less than 2^-14 of the greatest.
/// REQUIRES: one product at least; all have the same channels.
/// Errors: those of StoreWeights (weights.h).
Result<ChannelFactors> SearchFactors(std::span<const ScaledProduct> products);

}  // namespace qtx::quantize
