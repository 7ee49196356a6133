#include "operators.h"

#include <algorithm>
#include <array>

#include "qtx/format/accumulator.h"
#include "qtx/format/attributes.h"
#include "qtx/format/catalogue.h"

namespace qtx::quantize {
namespace {

using format::Node;
using enum OperatorRow::Output;

constexpr std::uint32_t kAll = ~std::uint32_t{0};
constexpr Range kUnit = {0, 1};
constexpr Range kSigned = {-1, 1};

// Those that copy elements of their first input are not among them. Sorted by op_type.
// Shared parameters: TFLite's 8-bit specification of the same operators ("restriction: Input and
// outputs must all have same scale/zero_point"), but for averages, whose results gain from a range
// of their own. Fixed ranges: the same text (Softmax, Logistic: 1/256, -128; Tanh: 1/128, 0;
// Log_softmax: 16/256, 127).  Source: https://ai.google.dev/edge/litert/models/quantization_spec
constexpr auto kRows = std::to_array<OperatorRow>({
    {.op_type = "Abs"},
    {.op_type = "Add", .data = 0b11},
    {.op_type = "AveragePool"},
    {.op_type = "BatchNormalization"},
    {.op_type = "Clip", .takes_clamp = false},
    {.op_type = "Concat", .output = kShared, .data = kAll},
    {.op_type = "Conv", .weights = 1, .bias = 2},
    {.op_type = "ConvTranspose", .weights = 1, .bias = 2},
    {.op_type = "Div", .data = 0b11},
    {.op_type = "Dropout", .output = kShared},
    {.op_type = "Elu"},
    {.op_type = "Gelu"},
    {.op_type = "Gemm", .weights = 1, .bias = 2},
    {.op_type = "GlobalAveragePool"},
    {.op_type = "HardSigmoid", .output = kFixed, .fixed = kUnit},
    {.op_type = "HardSwish"},
    {.op_type = "LeakyRelu"},
    {.op_type = "LogSoftmax", .output = kFixed, .fixed = {-16, 0}},
    {.op_type = "MatMul", .weights = 1},
    {.op_type = "Max", .output = kShared, .data = kAll},
    {.op_type = "Mean", .data = kAll},
    {.op_type = "Min", .output = kShared, .data = kAll},
    {.op_type = "Mish"},
    {.op_type = "Mul", .data = 0b11},
    {.op_type = "Neg"},
    {.op_type = "PRelu", .data = 0b11},
    {.op_type = "Pad", .output = kShared},
    {.op_type = "ReduceMean"},
    {.op_type = "ReduceSum"},
    {.op_type = "Relu", .takes_clamp = false},
    {.op_type = "Resize"},
    {.op_type = "Sigmoid", .output = kFixed, .fixed = kUnit},
    {.op_type = "Softmax", .output = kFixed, .fixed = kUnit},
    {.op_type = "Sub", .data = 0b11},
    {.op_type = "Sum", .data = kAll},
    {.op_type = "Tanh", .output = kFixed, .fixed = kSigned},
});
static_assert(std::ranges::is_sorted(kRows, {}, &OperatorRow::op_type));

constexpr OperatorRow kCopying = {.output = kShared};

bool CopiesElements(const Node& node) {
  if (IsStock(node, "Resize")) return format::Attributes(node).String("mode") == "nearest";
  const format::OpSchema* schema = format::FindSchema(node.domain, node.op_type);
  return schema != nullptr && schema->copies_elements;
}

}  // namespace

const OperatorRow* FindRow(const Node& node) {
  if (!IsStock(node, node.op_type)) return nullptr;
  if (CopiesElements(node)) return &kCopying;
  if (node.op_type == "BatchNormalization" && format::Attributes(node).Int("training_mode") != 0)
    return nullptr;
  const auto row = std::ranges::lower_bound(kRows, node.op_type, {}, &OperatorRow::op_type);
  return row != kRows.end() && row->op_type == node.op_type ? &*row : nullptr;
}

std::int64_t GroupsOf(const Node& node) {
  return IsStock(node, "Gemm") || IsStock(node, "MatMul") ? 1
                                                          : format::Attributes(node).Int("group");
}

WeightAxes AxesOf(const Node& node, const format::Dims& dims) {
  const auto rank = static_cast<std::int64_t>(dims.size());
  if (rank < 2) return {};
  // [C, M / group, ...]: with groups, axis 1 has a value for one output of each group.
  if (IsStock(node, "ConvTranspose") && GroupsOf(node) != 1) return {.reduced = 0};
  const std::int64_t output = format::OutputAxis(node, rank);
  return {.output = output, .reduced = output == 0 ? 1 : output - 1};
}

WeightChannels ChannelsOf(const Node& node, const format::Dims& dims, std::int64_t element) {
  std::int64_t spatial = 1;
  for (std::size_t i = 2; i < dims.size(); ++i) spatial *= dims[i];
  const std::int64_t first = element / spatial / dims[1], second = element / spatial % dims[1];
  const std::int64_t of_group = first / (dims[0] / GroupsOf(node)) * dims[1] + second;
  return format::OutputAxis(node, std::ssize(dims)) == 0 ? WeightChannels{first, of_group}
                                                         : WeightChannels{of_group, first};
}

}  // namespace qtx::quantize
