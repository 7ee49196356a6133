// Weights of neighbouring layers brought to like ranges, channel by channel.
#pragma once

#include "ledger.h"
#include "qtx/format/model.h"
#include "qtx/quantize/quantize.h"

namespace qtx::quantize {

/// Where only Relu and its like stand between two layers with constant weights, each channel
/// between them is divided by s in the first and multiplied by s in the second:
///   s = sqrt(r1 / r2), r1 = max |w| of the channel's outputs in the first, r2 of its inputs in the
///   second,
/// again and again until no channel changes, with s rounded to a power of two: then both networks
/// compute the same binary32 numbers, bit for bit. Channels whose weights would leave the normal
/// range stay.  Statistics per axis 1 follow; others are measured anew.
/// Errors: kInvalid naming a value whose statistics cannot follow, where there is no
/// `options.measure`; its own; those of Decode.
/// Source: Nagel et al. 2019, "Data-Free Quantization Through Weight Equalization and Bias
/// Correction", section 4.1, (9) to (11).
Result<void> Equalize(format::Model& model, const Options& options, Ledger& ledger);

}  // namespace qtx::quantize
