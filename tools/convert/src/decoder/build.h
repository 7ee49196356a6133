// The ONNX graph of a decoder, with a cache of keys and values.
#pragma once

#include "decoder/config.h"
#include "qtx/format/model.h"
#include "qtx/format/result.h"

namespace qtx::convert::decoder {

inline constexpr std::int64_t kOpset = 24;  // Attention-24, Swish

/// The graph of opset kOpset over `weights`, whose initializers and declarations the caller adds.
/// Inputs: input_ids and position_ids, INT64 [batch, sequence]; for each layer i
/// past_key_values.i.key and .value, [batch, kv_heads, past, size of a head], of 0 tokens at first.
/// Outputs: logits [batch, sequence, vocabulary]; present.i.key and .value, the past with the
/// sequence behind it. All tokens are attended to that come no later: there is no padding.
/// Errors: kInvalid for a weight that is missing or has another shape, kUnsupported for one that
/// this graph would not read.
Result<format::Graph> BuildDecoder(const DecoderConfig& config, const Weights& weights);

}  // namespace qtx::convert::decoder
