#include "qdq/opset.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "qtx/format/attributes.h"

namespace qtx::convert {
namespace {

constexpr std::int64_t kOldestOpset = 13;  // the table below says nothing of what was before

// An operator whose nodes mean the same in every opset from 13 on that has it, except for the
// version that changed it. Versions that only added types are not listed.
struct Operator {
  std::string_view name;
  std::int64_t changed = 0;  // the one version whose nodes are read otherwise; 0: none
};

// Sorted by name.
constexpr std::array kOperators = {
    Operator{"Abs"},
    Operator{"Add"},
    Operator{"And"},
    Operator{"ArgMax"},
    Operator{"ArgMin"},
    Operator{"Attention"},
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
    Operator{"Gelu"},
    Operator{"Gemm"},
    Operator{"GlobalAveragePool"},
    Operator{"GlobalMaxPool"},
    Operator{"Greater"},
    Operator{"GreaterOrEqual"},
    Operator{"HardSigmoid"},
    Operator{"HardSwish"},
    Operator{"Identity"},
    Operator{"InstanceNormalization"},
    Operator{"LSTM"},
    Operator{"LayerNormalization"},
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
    Operator{"Mish"},
    Operator{"Mul"},
    Operator{"Neg"},
    Operator{"Not"},
    Operator{"Or"},
    Operator{"PRelu"},
    Operator{"Pad"},
    Operator{"Pow"},
    Operator{"QuantizeLinear"},
    Operator{"RMSNormalization"},
    Operator{"Reciprocal"},
    Operator{"ReduceL2", 18},  // axes: an attribute before, an input since
    Operator{"ReduceMax", 18},
    Operator{"ReduceMean", 18},
    Operator{"ReduceMin", 18},
    Operator{"ReduceProd", 18},
    Operator{"ReduceSum"},
    Operator{"ReduceSumSquare", 18},
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

Error Refused(const std::string& message) { return {ErrorCode::kUnsupported, "", message}; }

Result<void> CheckHas(const std::string& what, std::int64_t since, std::int64_t opset) {
  if (opset >= since) return {};
  return Refused(what + "came with opset " + std::to_string(since) + ", found " +
                 std::to_string(opset));
}

// The operator and all that the node uses of it are in the opset.
Result<void> CheckParts(const format::Node& node, std::int64_t opset) {
  QTX_RETURN_IF_ERROR(CheckHas("", format::OpsetOf(node.op_type), opset));
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i].empty()) continue;
    QTX_RETURN_IF_ERROR(
        CheckHas("input " + std::to_string(i) + " ", format::OpsetOfInput(node.op_type, i), opset));
  }
  for (const format::Attribute& attribute : node.attributes) {
    QTX_RETURN_IF_ERROR(CheckHas("attribute '" + attribute.name + "' ",
                                 format::OpsetOfAttribute(node.op_type, attribute.name), opset));
  }
  return {};
}

}  // namespace

Result<void> CheckMove(const format::Node& node, std::int64_t from, std::int64_t to) {
  const std::string move =
      "may differ between opset " + std::to_string(from) + " and " + std::to_string(to);
  const auto* found =
      std::ranges::lower_bound(kOperators, std::string_view(node.op_type), {}, &Operator::name);
  if (from < kOldestOpset || found == kOperators.end() || found->name != node.op_type)
    return Refused(move);
  if (std::min(from, to) < found->changed && found->changed <= std::max(from, to))
    return Refused(move + ": changed in " + std::to_string(found->changed));
  // Splitting into equal parts without num_outputs became an error.
  if (node.op_type == "Split" && from < 18 && to >= 18 && node.inputs.size() < 2)
    return Refused(move + ": needs num_outputs since 18");
  return CheckParts(node, to);
}

}  // namespace qtx::convert
