#include "qdq/opset.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace qtx::convert {
namespace {

constexpr std::int64_t kOldestOpset = 13;  // the table below says nothing of what was before

// An operator whose nodes mean the same in every opset from 13 or `since`, except for the version
// that changed it and for additions. Versions that only added types are not listed.
struct Operator {
  std::string_view name;
  std::int64_t since = kOldestOpset;
  std::int64_t changed = 0;  // the one version whose nodes are read otherwise; 0: none
};

// Sorted by name.
constexpr std::array kOperators = {
    Operator{"Abs"},
    Operator{"Add"},
    Operator{"And"},
    Operator{"ArgMax"},
    Operator{"ArgMin"},
    Operator{"Attention", 23},
    Operator{"AveragePool"},
    Operator{"BatchNormalization"},
    Operator{"Cast"},
    Operator{"Ceil"},
    Operator{"Clip"},
    Operator{"Concat"},
    Operator{"Constant"},
    Operator{"Conv"},
    Operator{"ConvTranspose"},
    Operator{"Cos"},
    Operator{"CumSum"},
    Operator{"DepthToSpace"},
    Operator{"DequantizeLinear"},
    Operator{"Div"},
    Operator{"Elu"},
    Operator{"Equal"},
    Operator{"Erf"},
    Operator{"Exp"},
    Operator{"Expand"},
    Operator{"Flatten"},
    Operator{"Floor"},
    Operator{"GRU"},
    Operator{"Gather"},
    Operator{"GatherElements"},
    Operator{"GatherND"},
    Operator{"Gelu", 20},
    Operator{"Gemm"},
    Operator{"GlobalAveragePool"},
    Operator{"GlobalMaxPool"},
    Operator{"Greater"},
    Operator{"GreaterOrEqual"},
    Operator{"HardSigmoid"},
    Operator{"HardSwish", 14},
    Operator{"Identity"},
    Operator{"InstanceNormalization"},
    Operator{"LSTM"},
    Operator{"LayerNormalization", 17},
    Operator{"LeakyRelu"},
    Operator{"Less"},
    Operator{"LessOrEqual"},
    Operator{"Log"},
    Operator{"LogSoftmax"},
    Operator{"LpNormalization"},
    Operator{"LpPool"},
    Operator{"MatMul"},
    Operator{"Max"},
    Operator{"MaxPool"},
    Operator{"Mean"},
    Operator{"Min"},
    Operator{"Mish", 18},
    Operator{"Mul"},
    Operator{"Neg"},
    Operator{"Not"},
    Operator{"Or"},
    Operator{"PRelu"},
    Operator{"Pad"},
    Operator{"Pow"},
    Operator{"QuantizeLinear"},
    Operator{"RMSNormalization", 23},
    Operator{"Reciprocal"},
    Operator{"ReduceL2", kOldestOpset, 18},  // axes: an attribute before, an input since
    Operator{"ReduceMax", kOldestOpset, 18},
    Operator{"ReduceMean", kOldestOpset, 18},
    Operator{"ReduceMin", kOldestOpset, 18},
    Operator{"ReduceProd", kOldestOpset, 18},
    Operator{"ReduceSum"},
    Operator{"ReduceSumSquare", kOldestOpset, 18},
    Operator{"Relu"},
    Operator{"Reshape"},
    Operator{"Resize"},
    Operator{"ReverseSequence"},
    Operator{"Round"},
    Operator{"ScatterND"},
    Operator{"Selu"},
    Operator{"Shape"},
    Operator{"Sigmoid"},
    Operator{"Sign"},
    Operator{"Sin"},
    Operator{"Slice"},
    Operator{"Softmax"},
    Operator{"Softplus"},
    Operator{"SpaceToDepth"},
    Operator{"Split"},
    Operator{"Sqrt"},
    Operator{"Squeeze"},
    Operator{"Sub"},
    Operator{"Sum"},
    Operator{"Tanh"},
    Operator{"Tile"},
    Operator{"TopK"},
    Operator{"Transpose"},
    Operator{"Unsqueeze"},
    Operator{"Where"},
    Operator{"Xor"},
};

// An addition to an operator: `attribute`, or if that is empty input `input`.
struct Addition {
  std::string_view name;
  std::string_view attribute;
  std::size_t input = 0;
  std::int64_t since = 0;
};

constexpr std::array kAdditions = {
    Addition{"Attention", "", 6, 24},
    Addition{"Attention", "left_window_size", 0, 25},
    Addition{"Attention", "right_window_size", 0, 25},
    Addition{"AveragePool", "dilations", 0, 19},
    Addition{"Cast", "round_mode", 0, 24},
    Addition{"Cast", "saturate", 0, 19},
    Addition{"DequantizeLinear", "block_size", 0, 21},
    Addition{"DequantizeLinear", "output_dtype", 0, 23},
    Addition{"GRU", "layout", 0, 14},
    Addition{"LSTM", "layout", 0, 14},
    Addition{"LpPool", "ceil_mode", 0, 18},
    Addition{"LpPool", "dilations", 0, 18},
    Addition{"Pad", "", 3, 18},
    Addition{"QuantizeLinear", "block_size", 0, 21},
    Addition{"QuantizeLinear", "output_dtype", 0, 21},
    Addition{"QuantizeLinear", "precision", 0, 23},
    Addition{"QuantizeLinear", "saturate", 0, 19},
    Addition{"Reshape", "allowzero", 0, 14},
    Addition{"Resize", "antialias", 0, 18},
    Addition{"Resize", "axes", 0, 18},
    Addition{"Resize", "keep_aspect_ratio_policy", 0, 18},
    Addition{"ScatterND", "reduction", 0, 16},
    Addition{"Shape", "end", 0, 15},
    Addition{"Shape", "start", 0, 15},
    Addition{"SpaceToDepth", "mode", 0, 28},
    Addition{"Split", "num_outputs", 0, 18},
};

Error Refused(const std::string& message) { return {ErrorCode::kUnsupported, "", message}; }

bool Uses(const format::Node& node, const Addition& addition) {
  if (!addition.attribute.empty()) return node.Find(addition.attribute) != nullptr;
  return node.inputs.size() > addition.input && !node.inputs[addition.input].empty();
}

}  // namespace

Result<void> CheckMove(const format::Node& node, std::int64_t from, std::int64_t to) {
  const std::string move =
      "may differ between opset " + std::to_string(from) + " and " + std::to_string(to);
  const auto* found =
      std::ranges::lower_bound(kOperators, std::string_view(node.op_type), {}, &Operator::name);
  if (from < kOldestOpset || found == kOperators.end() || found->name != node.op_type)
    return Refused(move);
  if (to < found->since)
    return Refused("came with opset " + std::to_string(found->since) + ", found " +
                   std::to_string(to));
  if (std::min(from, to) < found->changed && found->changed <= std::max(from, to))
    return Refused(move + ": changed in " + std::to_string(found->changed));
  // Splitting into equal parts without num_outputs became an error.
  if (node.op_type == "Split" && from < 18 && to >= 18 && node.inputs.size() < 2)
    return Refused(move + ": needs num_outputs since 18");
  for (const Addition& addition : kAdditions) {
    if (addition.name != node.op_type || to >= addition.since || !Uses(node, addition)) continue;
    const std::string what = addition.attribute.empty()
                                 ? "input " + std::to_string(addition.input)
                                 : "attribute '" + std::string(addition.attribute) + "'";
    return Refused(what + " came with opset " + std::to_string(addition.since) + ", found " +
                   std::to_string(to));
  }
  return {};
}

}  // namespace qtx::convert
