// What quantization makes of each operator: one row each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "qtx/format/model.h"
#include "qtx/quantize/parameters.h"

namespace qtx::quantize {

struct OperatorRow {
  std::string_view op_type;  // of ai.onnx
  enum class Output {
    kOwn,     // parameters from its own statistics
    kShared,  // those of the data inputs: every value is one of theirs
    kFixed,   // by `fixed`, whatever the statistics
  } output = Output::kOwn;
  std::uint32_t data = 1;   // inputs that are activations, a bit each
  int weights = -1;         // input that is weights where it is constant, else an activation
  int bias = -1;            // input that is a bias where it is constant
  bool takes_clamp = true;  // a Relu or Clip after it becomes the limits of its own output
  Range fixed = {};
};

/// nullptr: the operator stays FLOAT.
const OperatorRow* FindRow(const format::Node& node);

/// Of weights of shape `dims`: the axis of the node's outputs and the one summed over. nullopt:
/// there is no such axis (groups of a ConvTranspose, a vector).
struct WeightAxes {
  std::optional<std::int64_t> output, reduced;
};
WeightAxes AxesOf(const format::Node& node, const format::Dims& dims);

/// Of an element of the weights of a Conv, ConvTranspose or Gemm: the channel of the output it adds
/// to, and the channel of the input it meets.  REQUIRES: rank 2 or more, `group` divides dims[0].
struct WeightChannels {
  std::int64_t output = 0, input = 0;
};
WeightChannels ChannelsOf(const format::Node& node, const format::Dims& dims, std::int64_t element);

bool IsStock(const format::Node& node, std::string_view op_type);

}  // namespace qtx::quantize
