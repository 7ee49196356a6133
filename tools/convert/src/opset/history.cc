#include "opset/history.h"

#include <algorithm>
#include <utility>

namespace qtx::convert {
namespace {

using enum OpsetChange;

// clang-format off
constexpr OpsetBoundary kHistory[] = {
  {"Abs", 13, kTypes}, {"Acos", 22, kTypes}, {"Acosh", 22, kTypes}, {"Add", 13, kTypes},
  {"Add", 14, kTypes}, {"ArgMax", 11, kAxis}, {"ArgMax", 12, kAdded}, {"ArgMax", 13, kTypes},
  {"ArgMin", 11, kAxis}, {"ArgMin", 12, kAdded}, {"ArgMin", 13, kTypes}, {"Asin", 22, kTypes},
  {"Asinh", 22, kTypes}, {"Atan", 22, kTypes}, {"Atanh", 22, kTypes}, {"Attention", 24, kAdded},
  {"Attention", 25, kAdded}, {"AveragePool", 10, kAdded}, {"AveragePool", 11, kText},
  {"AveragePool", 19, kAdded}, {"AveragePool", 22, kTypes}, {"BatchNormalization", 9, kForm},
  {"BatchNormalization", 14, kForm}, {"BatchNormalization", 15, kTypes}, {"Bernoulli", 22, kTypes},
  {"BitShift", 28, kTypes}, {"Cast", 9, kTypes}, {"Cast", 13, kTypes}, {"Cast", 19, kAdded},
  {"Cast", 21, kTypes}, {"Cast", 23, kTypes}, {"Cast", 24, kAdded}, {"Cast", 25, kTypes},
  {"Cast", 28, kTypes}, {"CastLike", 19, kAdded}, {"CastLike", 21, kTypes},
  {"CastLike", 23, kTypes}, {"CastLike", 24, kAdded}, {"CastLike", 25, kTypes},
  {"Ceil", 13, kTypes}, {"Celu", 28, kTypes}, {"Clip", 11, kForm}, {"Clip", 12, kTypes},
  {"Clip", 13, kTypes}, {"Compress", 11, kAxis}, {"Compress", 28, kTypes}, {"Concat", 11, kAxis},
  {"Concat", 13, kTypes}, {"Constant", 9, kTypes}, {"Constant", 11, kAdded}, {"Constant", 12, kForm},
  {"Constant", 13, kTypes}, {"Constant", 19, kTypes}, {"Constant", 21, kTypes},
  {"Constant", 23, kTypes}, {"Constant", 24, kTypes}, {"Constant", 25, kTypes},
  {"ConstantOfShape", 20, kTypes}, {"ConstantOfShape", 21, kTypes}, {"ConstantOfShape", 23, kTypes},
  {"ConstantOfShape", 24, kTypes}, {"ConstantOfShape", 25, kTypes}, {"Conv", 11, kText},
  {"Conv", 22, kTypes}, {"ConvTranspose", 11, kText}, {"ConvTranspose", 22, kTypes},
  {"Cos", 22, kTypes}, {"Cosh", 22, kTypes}, {"CumSum", 14, kTypes}, {"DFT", 20, kForm},
  {"DeformConv", 22, kTypes}, {"DepthToSpace", 11, kAdded}, {"DepthToSpace", 13, kTypes},
  {"DepthToSpace", 28, kText}, {"DequantizeLinear", 13, kForm}, {"DequantizeLinear", 19, kTypes},
  {"DequantizeLinear", 21, kAdded}, {"DequantizeLinear", 23, kForm},
  {"DequantizeLinear", 24, kTypes}, {"DequantizeLinear", 25, kTypes},
  {"DequantizeLinear", 28, kTypes}, {"Det", 22, kTypes}, {"Div", 13, kTypes}, {"Div", 14, kTypes},
  {"Dropout", 10, kForm}, {"Dropout", 12, kForm}, {"Dropout", 13, kTypes}, {"Dropout", 22, kTypes},
  {"Einsum", 28, kTypes}, {"Elu", 22, kTypes}, {"Equal", 11, kTypes}, {"Equal", 13, kTypes},
  {"Equal", 19, kTypes}, {"Erf", 13, kTypes}, {"Exp", 13, kTypes}, {"Expand", 13, kTypes},
  {"EyeLike", 22, kTypes}, {"Flatten", 9, kTypes}, {"Flatten", 11, kAxis}, {"Flatten", 13, kTypes},
  {"Flatten", 21, kTypes}, {"Flatten", 23, kTypes}, {"Flatten", 24, kTypes},
  {"Flatten", 25, kTypes}, {"Floor", 13, kTypes}, {"GRU", 14, kAdded}, {"GRU", 22, kTypes},
  {"Gather", 11, kText}, {"Gather", 13, kTypes}, {"GatherElements", 13, kTypes},
  {"GatherND", 12, kAdded}, {"GatherND", 13, kTypes}, {"Gemm", 9, kTypes}, {"Gemm", 11, kForm},
  {"Gemm", 13, kTypes}, {"GlobalAveragePool", 22, kTypes}, {"GlobalLpPool", 22, kTypes},
  {"GlobalMaxPool", 22, kTypes}, {"Greater", 9, kTypes}, {"Greater", 13, kTypes},
  {"GreaterOrEqual", 16, kTypes}, {"GridSample", 20, kForm}, {"GridSample", 22, kTypes},
  {"GroupNormalization", 21, kForm}, {"HardSigmoid", 22, kTypes}, {"HardSwish", 22, kTypes},
  {"Hardmax", 11, kAxis}, {"Hardmax", 13, kForm}, {"Identity", 13, kTypes},
  {"Identity", 14, kTypes}, {"Identity", 16, kTypes}, {"Identity", 19, kTypes},
  {"Identity", 21, kTypes}, {"Identity", 23, kTypes}, {"Identity", 24, kTypes},
  {"Identity", 25, kTypes}, {"If", 11, kText}, {"If", 13, kTypes}, {"If", 16, kTypes},
  {"If", 19, kTypes}, {"If", 21, kTypes}, {"If", 23, kTypes}, {"If", 24, kTypes},
  {"If", 25, kTypes}, {"InstanceNormalization", 22, kTypes}, {"IsInf", 20, kTypes},
  {"IsNaN", 13, kTypes}, {"IsNaN", 20, kTypes}, {"LRN", 13, kTypes}, {"LSTM", 14, kAdded},
  {"LSTM", 22, kTypes}, {"LeakyRelu", 16, kTypes}, {"Less", 9, kTypes}, {"Less", 13, kTypes},
  {"LessOrEqual", 16, kTypes}, {"Log", 13, kTypes}, {"LogSoftmax", 11, kAxis},
  {"LogSoftmax", 13, kForm}, {"Loop", 11, kAdded}, {"Loop", 13, kTypes}, {"Loop", 16, kTypes},
  {"Loop", 19, kTypes}, {"Loop", 21, kTypes}, {"Loop", 23, kTypes}, {"Loop", 24, kTypes},
  {"Loop", 25, kTypes}, {"LpNormalization", 22, kTypes}, {"LpPool", 11, kText},
  {"LpPool", 18, kAdded}, {"LpPool", 22, kTypes}, {"MatMul", 9, kTypes}, {"MatMul", 13, kTypes},
  {"Max", 8, kForm}, {"Max", 12, kTypes}, {"Max", 13, kTypes}, {"MaxPool", 8, kAdded},
  {"MaxPool", 10, kAdded}, {"MaxPool", 11, kText}, {"MaxPool", 12, kTypes}, {"MaxPool", 22, kTypes},
  {"MaxRoiPool", 22, kTypes}, {"MaxUnpool", 11, kText}, {"MaxUnpool", 22, kTypes},
  {"Mean", 8, kForm}, {"Mean", 13, kTypes}, {"MeanVarianceNormalization", 13, kTypes},
  {"Min", 8, kForm}, {"Min", 12, kTypes}, {"Min", 13, kTypes}, {"Mish", 22, kTypes},
  {"Mod", 13, kTypes}, {"Mod", 28, kForm}, {"Mul", 13, kTypes}, {"Mul", 14, kTypes},
  {"Multinomial", 22, kTypes}, {"Neg", 13, kTypes}, {"NegativeLogLikelihoodLoss", 13, kText},
  {"NegativeLogLikelihoodLoss", 22, kTypes}, {"NonMaxSuppression", 11, kText},
  {"NonZero", 13, kTypes}, {"OneHot", 11, kForm}, {"OneHot", 28, kTypes}, {"Optional", 28, kTypes},
  {"OptionalGetElement", 18, kTypes}, {"OptionalGetElement", 28, kTypes},
  {"OptionalHasElement", 18, kAdded}, {"OptionalHasElement", 28, kTypes}, {"PRelu", 9, kTypes},
  {"PRelu", 16, kTypes}, {"Pad", 11, kForm}, {"Pad", 13, kTypes}, {"Pad", 18, kForm},
  {"Pad", 19, kText}, {"Pad", 21, kTypes}, {"Pad", 23, kTypes}, {"Pad", 24, kTypes},
  {"Pad", 25, kTypes}, {"Pow", 12, kTypes}, {"Pow", 13, kTypes}, {"Pow", 15, kTypes},
  {"QLinearMatMul", 21, kTypes}, {"QuantizeLinear", 13, kForm}, {"QuantizeLinear", 19, kAdded},
  {"QuantizeLinear", 21, kForm}, {"QuantizeLinear", 23, kAdded}, {"QuantizeLinear", 24, kTypes},
  {"QuantizeLinear", 25, kTypes}, {"QuantizeLinear", 28, kTypes}, {"RNN", 14, kAdded},
  {"RNN", 22, kTypes}, {"RandomNormal", 22, kTypes}, {"RandomNormalLike", 22, kTypes},
  {"RandomUniform", 22, kTypes}, {"RandomUniformLike", 22, kTypes}, {"Range", 27, kAdded},
  {"Reciprocal", 13, kTypes}, {"ReduceL1", 11, kAxis}, {"ReduceL1", 13, kTypes},
  {"ReduceL1", 18, kForm}, {"ReduceL2", 11, kAxis}, {"ReduceL2", 13, kTypes},
  {"ReduceL2", 18, kForm}, {"ReduceLogSum", 11, kAxis}, {"ReduceLogSum", 13, kTypes},
  {"ReduceLogSum", 18, kForm}, {"ReduceLogSum", 28, kTypes}, {"ReduceLogSumExp", 11, kAxis},
  {"ReduceLogSumExp", 13, kTypes}, {"ReduceLogSumExp", 18, kForm}, {"ReduceLogSumExp", 28, kTypes},
  {"ReduceMax", 11, kAxis}, {"ReduceMax", 12, kTypes}, {"ReduceMax", 13, kTypes},
  {"ReduceMax", 18, kForm}, {"ReduceMax", 20, kTypes}, {"ReduceMean", 11, kAxis},
  {"ReduceMean", 13, kTypes}, {"ReduceMean", 18, kForm}, {"ReduceMin", 11, kAxis},
  {"ReduceMin", 12, kTypes}, {"ReduceMin", 13, kTypes}, {"ReduceMin", 18, kForm},
  {"ReduceMin", 20, kTypes}, {"ReduceProd", 11, kAxis}, {"ReduceProd", 13, kTypes},
  {"ReduceProd", 18, kForm}, {"ReduceSum", 11, kAxis}, {"ReduceSum", 13, kForm},
  {"ReduceSumSquare", 11, kAxis}, {"ReduceSumSquare", 13, kTypes}, {"ReduceSumSquare", 18, kForm},
  {"Relu", 13, kTypes}, {"Relu", 14, kTypes}, {"Reshape", 13, kTypes}, {"Reshape", 14, kForm},
  {"Reshape", 19, kTypes}, {"Reshape", 21, kTypes}, {"Reshape", 23, kTypes},
  {"Reshape", 24, kTypes}, {"Reshape", 25, kTypes}, {"Resize", 11, kForm}, {"Resize", 13, kForm},
  {"Resize", 18, kForm}, {"Resize", 19, kText}, {"ReverseSequence", 28, kTypes},
  {"RoiAlign", 16, kForm}, {"RoiAlign", 22, kTypes}, {"Round", 22, kTypes}, {"Scan", 9, kForm},
  {"Scan", 11, kText}, {"Scan", 16, kTypes}, {"Scan", 19, kTypes}, {"Scan", 21, kTypes},
  {"Scan", 23, kTypes}, {"Scan", 24, kTypes}, {"Scan", 25, kTypes}, {"Scatter", 11, kNamed},
  {"ScatterElements", 13, kTypes}, {"ScatterElements", 16, kAdded}, {"ScatterElements", 18, kText},
  {"ScatterND", 13, kTypes}, {"ScatterND", 16, kAdded}, {"ScatterND", 18, kText},
  {"Selu", 22, kTypes}, {"Shape", 13, kTypes}, {"Shape", 15, kForm}, {"Shape", 19, kTypes},
  {"Shape", 21, kTypes}, {"Shape", 23, kTypes}, {"Shape", 24, kTypes}, {"Shape", 25, kTypes},
  {"Sigmoid", 13, kTypes}, {"Sign", 13, kTypes}, {"Sin", 22, kTypes}, {"Sinh", 22, kTypes},
  {"Size", 13, kTypes}, {"Size", 19, kTypes}, {"Size", 21, kTypes}, {"Size", 23, kTypes},
  {"Size", 24, kTypes}, {"Size", 25, kTypes}, {"Slice", 10, kForm}, {"Slice", 11, kForm},
  {"Slice", 13, kTypes}, {"Softmax", 11, kAxis}, {"Softmax", 13, kForm},
  {"SoftmaxCrossEntropyLoss", 13, kTypes}, {"Softplus", 22, kTypes}, {"Softsign", 22, kTypes},
  {"SpaceToDepth", 13, kTypes}, {"SpaceToDepth", 28, kAdded}, {"Split", 11, kAxis},
  {"Split", 13, kForm}, {"Split", 18, kForm}, {"SplitToSequence", 24, kTypes}, {"Sqrt", 13, kTypes},
  {"Squeeze", 11, kAxis}, {"Squeeze", 13, kForm}, {"Squeeze", 21, kTypes}, {"Squeeze", 23, kTypes},
  {"Squeeze", 24, kTypes}, {"Squeeze", 25, kTypes}, {"Sub", 13, kTypes}, {"Sub", 14, kTypes},
  {"Sum", 8, kForm}, {"Sum", 13, kTypes}, {"Tan", 22, kTypes}, {"Tanh", 13, kTypes},
  {"ThresholdedRelu", 22, kTypes}, {"Tile", 13, kTypes}, {"TopK", 10, kForm}, {"TopK", 11, kAxis},
  {"TopK", 24, kTypes}, {"Transpose", 13, kTypes}, {"Transpose", 21, kTypes},
  {"Transpose", 23, kTypes}, {"Transpose", 24, kTypes}, {"Transpose", 25, kTypes},
  {"Unique", 28, kTypes}, {"Unsqueeze", 11, kAxis}, {"Unsqueeze", 13, kForm},
  {"Unsqueeze", 21, kTypes}, {"Unsqueeze", 23, kTypes}, {"Unsqueeze", 24, kTypes},
  {"Unsqueeze", 25, kTypes}, {"Upsample", 9, kForm}, {"Upsample", 10, kNamed},
  {"Where", 16, kTypes},
};

constexpr OpsetValue kValues[] = {
  {"Pad", 19, "mode", "wrap"},
  {"Resize", 11, "mode", "cubic"},
  {"Resize", 13, "coordinate_transformation_mode", "tf_half_pixel_for_nn", true},
  {"Resize", 19, "coordinate_transformation_mode", "half_pixel_symmetric"},
  {"ScatterElements", 18, "reduction", "max"},
  {"ScatterElements", 18, "reduction", "min"},
  {"ScatterND", 18, "reduction", "max"},
  {"ScatterND", 18, "reduction", "min"},
};

constexpr OpsetSuccessor kSuccessors[] = {
  {"Scatter", "ScatterElements", 11},
  {"Upsample", "Resize", 10},
};
// clang-format on

}  // namespace

std::span<const OpsetBoundary> OpsetHistory() { return kHistory; }
std::span<const OpsetValue> OpsetValues() { return kValues; }
std::span<const OpsetSuccessor> OpsetSuccessors() { return kSuccessors; }

const OpsetBoundary* FindBoundary(std::string_view op_type, std::int64_t since) {
  const auto key = std::pair(op_type, since);
  const auto key_of = [](const OpsetBoundary& row) {
    return std::pair(row.op_type, std::int64_t{row.since});
  };
  const auto* found = std::ranges::lower_bound(kHistory, key, {}, key_of);
  return found == std::end(kHistory) || key_of(*found) != key ? nullptr : found;
}

}  // namespace qtx::convert
