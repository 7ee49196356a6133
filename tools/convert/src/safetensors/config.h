// What config.json says of a model's quantization.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "qtx/format/result.h"
#include "qtx/format/shape.h"

namespace qtx::convert::safetensors {

/// Members of quantization_config; absent ones are empty or 0. Tensors say most: this is for what
/// their shapes leave open.
struct Config {
  std::string method;             // quant_method: gptq, awq, compressed-tensors, ...
  std::string checkpoint_format;  // of GPTQ: gptq, whose zero points are less one, or gptq_v2
  std::int64_t bits = 0;          // of codes
  std::int64_t group_size = 0;    // -1: the whole row
  format::Dims block;             // of two dimensions, with a scale each: weight_block_size
};

/// `text` is config.json, or empty.  Errors: kInvalid for another JSON than an object, kTooLarge.
Result<Config> ParseConfig(std::string_view text);

}  // namespace qtx::convert::safetensors
