// AWQ: the weights of input channels with large inputs are made larger before they are rounded.
#pragma once

#include "ledger.h"
#include "qtx/format/model.h"
#include "qtx/quantize/quantize.h"

namespace qtx::quantize {

/// For each value that MatMul, Gemm or Conv with constant weights read, in the order of the graph:
/// the weights of each of its channels are multiplied by the factor of SearchFactors (awq_search.h)
/// and the value is divided by it, in the constants that give it (divide.h), or, with
/// `options.awq` kMultiply, where it cannot be, by a Mul before the products. The float model
/// computes what it did but for the rounding of each changed constant. Values without sums, and
/// those that cannot be divided, stay, and the ledger says why.
/// `options.grams` become those of the divided values; statistics of these are measured anew, or
/// dropped.
/// Errors: kInvalid for a value whose statistics are needed and cannot be measured; those of
/// Decode, SettingsOf, SearchFactors and `options`' functions. Source: Lin et al., "AWQ:
/// Activation-aware Weight Quantization for LLM Compression and Acceleration", arXiv:2306.00978.
Result<void> ScaleInputs(format::Model& model, Options& options, Ledger& ledger);

}  // namespace qtx::quantize
