#include "qdq/opset.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "qtx/format/catalogue.h"

namespace qtx::convert {
namespace {

constexpr std::int64_t kOldestOpset = 13;  // the list below says nothing of what was before

// Operators whose nodes mean the same in every opset from 13 on that has them in that form. Sorted.
constexpr auto kUnchanged = std::to_array<std::string_view>({"Abs",
                                                             "Add",
                                                             "And",
                                                             "ArgMax",
                                                             "ArgMin",
                                                             "Attention",
                                                             "AveragePool",
                                                             "BatchNormalization",
                                                             "Cast",
                                                             "Ceil",
                                                             "Clip",
                                                             "Concat",
                                                             "Constant",
                                                             "Conv",
                                                             "ConvTranspose",
                                                             "Cos",
                                                             "CumSum",
                                                             "DepthToSpace",
                                                             "DequantizeLinear",
                                                             "Div",
                                                             "Elu",
                                                             "Equal",
                                                             "Erf",
                                                             "Exp",
                                                             "Expand",
                                                             "Flatten",
                                                             "Floor",
                                                             "GRU",
                                                             "Gather",
                                                             "GatherElements",
                                                             "GatherND",
                                                             "Gelu",
                                                             "Gemm",
                                                             "GlobalAveragePool",
                                                             "GlobalMaxPool",
                                                             "Greater",
                                                             "GreaterOrEqual",
                                                             "HardSigmoid",
                                                             "HardSwish",
                                                             "Identity",
                                                             "If",
                                                             "InstanceNormalization",
                                                             "LSTM",
                                                             "LayerNormalization",
                                                             "LeakyRelu",
                                                             "Less",
                                                             "LessOrEqual",
                                                             "Log",
                                                             "LogSoftmax",
                                                             "Loop",
                                                             "LpNormalization",
                                                             "LpPool",
                                                             "MatMul",
                                                             "Max",
                                                             "MaxPool",
                                                             "Mean",
                                                             "Min",
                                                             "Mish",
                                                             "Mul",
                                                             "Neg",
                                                             "Not",
                                                             "Or",
                                                             "PRelu",
                                                             "Pad",
                                                             "Pow",
                                                             "QuantizeLinear",
                                                             "RMSNormalization",
                                                             "Reciprocal",
                                                             "ReduceL2",
                                                             "ReduceMax",
                                                             "ReduceMean",
                                                             "ReduceMin",
                                                             "ReduceProd",
                                                             "ReduceSum",
                                                             "ReduceSumSquare",
                                                             "Relu",
                                                             "Reshape",
                                                             "Resize",
                                                             "ReverseSequence",
                                                             "Round",
                                                             "Scan",
                                                             "ScatterND",
                                                             "Selu",
                                                             "Shape",
                                                             "Sigmoid",
                                                             "Sign",
                                                             "Sin",
                                                             "Slice",
                                                             "Softmax",
                                                             "Softplus",
                                                             "SpaceToDepth",
                                                             "Split",
                                                             "Sqrt",
                                                             "Squeeze",
                                                             "Sub",
                                                             "Sum",
                                                             "Tanh",
                                                             "Tile",
                                                             "TopK",
                                                             "Transpose",
                                                             "Unsqueeze",
                                                             "Where",
                                                             "Xor"});

Error Refused(const std::string& message) { return {ErrorCode::kUnsupported, "", message}; }

}  // namespace

Result<void> CheckMove(const format::Node& node, std::int64_t from, std::int64_t to) {
  const std::string move =
      "may differ between opset " + std::to_string(from) + " and " + std::to_string(to);
  if (from < kOldestOpset ||
      !std::ranges::binary_search(kUnchanged, std::string_view(node.op_type))) {
    return Refused(move);
  }
  // Splitting into equal parts without num_outputs became an error.
  if (node.op_type == "Split" && from < 18 && to >= 18 && node.inputs.size() < 2)
    return Refused(move + ": needs num_outputs since 18");
  const auto has = format::CheckOnnxForm(node, to);
  if (has.has_value()) return {};
  return At(has.error().where, Refused(move + ": " + has.error().message));
}

}  // namespace qtx::convert
