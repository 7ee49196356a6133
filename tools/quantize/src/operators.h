// How each operator is quantized: one row each.
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
    kShared,  // those of the data inputs, whose values it copies
    kFixed,   // by `fixed`, ignoring statistics
  } output = Output::kOwn;
  std::uint32_t data = 1;   // bit set of inputs that are activations
  int weights = -1;         // input that is weights if constant, else an activation
  int bias = -1;            // input that is a bias if constant
  bool takes_clamp = true;  // a following Relu or Clip is fused as limits of the output
  Range fixed = {};
};

/// nullptr: the operator stays FLOAT.
const OperatorRow* FindRow(const format::Node& node);

/// The output axis and the reduced axis of weights of shape `dims`; nullopt if there is none
/// (groups of a ConvTranspose, a vector).
struct WeightAxes {
  std::optional<std::int64_t> output, reduced;
};
WeightAxes AxesOf(const format::Node& node, const format::Dims& dims);

/// The output channel and the input channel of an element of the weights of a Conv, ConvTranspose
/// or Gemm.  REQUIRES: rank 2 or more, `group` divides dims[0].
struct WeightChannels {
  std::int64_t output = 0, input = 0;
};
WeightChannels ChannelsOf(const format::Node& node, const format::Dims& dims, std::int64_t element);

/// The groups of a Conv or ConvTranspose; 1 of a Gemm or MatMul.
std::int64_t GroupsOf(const format::Node& node);

}  // namespace qtx::quantize
