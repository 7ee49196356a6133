// Biases that make up for the mean error of quantized weights.
#pragma once

#include <optional>
#include <vector>

#include "operators.h"
#include "qtx/format/model.h"
#include "qtx/format/tensor.h"
#include "qtx/quantize/quantize.h"

namespace qtx::quantize {

/// The mean of each channel of `value` by its statistics: of axis 1, or nullopt.
std::optional<std::vector<double>> ChannelMeans(const format::Model& model,
                                                const std::string& value);

/// Has `options.measure` give the model statistics of each channel, where the input of a Conv,
/// ConvTranspose or Gemm with constant weights has none.
/// Errors: kInvalid naming that input where there is no `measure`; its own.
Result<void> EnsureMeans(format::Model& model, const Options& options);

/// What to take from each output's bias: sum over the weights of (stored - real) * E[x], with the
/// mean of the input channel they meet.  nullopt: the shapes do not fit.
/// Source: Nagel et al. 2019, "Data-Free Quantization Through Weight Equalization and Bias
/// Correction", section 4.2.
std::optional<std::vector<double>> MeanError(const format::Node& node, const format::Tensor& real,
                                             const format::Tensor& stored,
                                             const std::vector<double>& means);

}  // namespace qtx::quantize
