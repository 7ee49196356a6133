#include "operators.h"

#include <algorithm>
#include <array>

#include "qtx/format/attributes.h"

namespace qtx::quantize {
namespace {

using format::Node;
using enum OperatorRow::Output;

constexpr std::uint32_t kAll = ~std::uint32_t{0};
constexpr Range kUnit = {0, 1};
constexpr Range kSigned = {-1, 1};

// Sorted by op_type. What shares: TFLite's 8-bit specification of the same operators ("restriction:
// Input and outputs must all have same scale/zero_point"), but for averages, whose results gain
// from a range of their own. Fixed ranges: the same text (Softmax, Logistic: 1/256, -128; Tanh:
// 1/128, 0; Log_softmax: 16/256, 127). Source:
// https://ai.google.dev/edge/litert/models/quantization_spec
constexpr auto kRows = std::to_array<OperatorRow>({
    {.op_type = "Abs"},
    {.op_type = "Add", .data = 0b11},
    {.op_type = "AveragePool"},
    {.op_type = "BatchNormalization"},
    {.op_type = "Clip", .takes_clamp = false},
    {.op_type = "Concat", .output = kShared, .data = kAll},
    {.op_type = "Conv", .weights = 1, .bias = 2},
    {.op_type = "ConvTranspose", .weights = 1, .bias = 2},
    {.op_type = "DepthToSpace", .output = kShared},
    {.op_type = "Div", .data = 0b11},
    {.op_type = "Dropout", .output = kShared},
    {.op_type = "Elu"},
    {.op_type = "Expand", .output = kShared},
    {.op_type = "Flatten", .output = kShared},
    {.op_type = "Gather", .output = kShared},
    {.op_type = "GatherND", .output = kShared},
    {.op_type = "Gelu"},
    {.op_type = "Gemm", .weights = 1, .bias = 2},
    {.op_type = "GlobalAveragePool"},
    {.op_type = "GlobalMaxPool", .output = kShared},
    {.op_type = "HardSigmoid", .output = kFixed, .fixed = kUnit},
    {.op_type = "HardSwish"},
    {.op_type = "Identity", .output = kShared},
    {.op_type = "LeakyRelu"},
    {.op_type = "LogSoftmax", .output = kFixed, .fixed = {-16, 0}},
    {.op_type = "MatMul", .weights = 1},
    {.op_type = "Max", .output = kShared, .data = kAll},
    {.op_type = "MaxPool", .output = kShared},
    {.op_type = "Mean", .data = kAll},
    {.op_type = "Min", .output = kShared, .data = kAll},
    {.op_type = "Mish"},
    {.op_type = "Mul", .data = 0b11},
    {.op_type = "Neg"},
    {.op_type = "PRelu", .data = 0b11},
    {.op_type = "Pad", .output = kShared},
    {.op_type = "ReduceMax", .output = kShared},
    {.op_type = "ReduceMean"},
    {.op_type = "ReduceMin", .output = kShared},
    {.op_type = "ReduceSum"},
    {.op_type = "Relu", .takes_clamp = false},
    {.op_type = "Reshape", .output = kShared},
    {.op_type = "Resize"},
    {.op_type = "Sigmoid", .output = kFixed, .fixed = kUnit},
    {.op_type = "Slice", .output = kShared},
    {.op_type = "Softmax", .output = kFixed, .fixed = kUnit},
    {.op_type = "SpaceToDepth", .output = kShared},
    {.op_type = "Split", .output = kShared},
    {.op_type = "Squeeze", .output = kShared},
    {.op_type = "Sub", .data = 0b11},
    {.op_type = "Sum", .data = kAll},
    {.op_type = "Tanh", .output = kFixed, .fixed = kSigned},
    {.op_type = "Tile", .output = kShared},
    {.op_type = "Transpose", .output = kShared},
    {.op_type = "Unsqueeze", .output = kShared},
});
static_assert(std::ranges::is_sorted(kRows, {}, &OperatorRow::op_type));

// A nearest-neighbour Resize makes no new values.
constexpr OperatorRow kNearest = {.op_type = "Resize", .output = kShared};

}  // namespace

bool IsStock(const Node& node, std::string_view op_type) {
  return node.op_type == op_type && (node.domain.empty() || node.domain == "ai.onnx");
}

const OperatorRow* FindRow(const Node& node) {
  if (!IsStock(node, node.op_type)) return nullptr;
  if (node.op_type == "Resize" && format::StringOf(node, "mode") == "nearest") return &kNearest;
  if (node.op_type == "BatchNormalization" && format::IntOf(node, "training_mode") != 0)
    return nullptr;
  const auto row = std::ranges::lower_bound(kRows, node.op_type, {}, &OperatorRow::op_type);
  return row != kRows.end() && row->op_type == node.op_type ? &*row : nullptr;
}

WeightAxes AxesOf(const Node& node, const format::Dims& dims) {
  const auto rank = static_cast<std::int64_t>(dims.size());
  if (rank < 2) return {};
  if (node.op_type == "Conv") return {.output = 0, .reduced = 1};
  if (node.op_type == "ConvTranspose") {
    // [C, M / group, ...]: with groups, axis 1 has a value for one output of each group.
    if (format::IntOf(node, "group") != 1) return {.reduced = 0};
    return {.output = 1, .reduced = 0};
  }
  if (node.op_type == "Gemm" && format::IntOf(node, "transB") != 0)
    return {.output = 0, .reduced = 1};
  return {.output = rank - 1, .reduced = rank - 2};
}

WeightChannels ChannelsOf(const Node& node, const format::Dims& dims, std::int64_t element) {
  std::int64_t spatial = 1;
  for (std::size_t i = 2; i < dims.size(); ++i) spatial *= dims[i];
  const std::int64_t first = element / spatial / dims[1], second = element / spatial % dims[1];
  if (IsStock(node, "Gemm"))
    return format::IntOf(node, "transB") != 0 ? WeightChannels{first, second}
                                              : WeightChannels{second, first};
  const std::int64_t of_group = first / (dims[0] / format::IntOf(node, "group")) * dims[1] + second;
  return IsStock(node, "Conv") ? WeightChannels{first, of_group} : WeightChannels{of_group, first};
}

}  // namespace qtx::quantize
