#include "qoperator/operators.h"

#include <algorithm>
#include <array>

#include "contrib/expand.h"
#include "onnx/nodes.h"

namespace qtx::convert {
namespace {

// Triples of value, scale and zero point from `first` on; inputs before it are untouched.
struct Row {
  std::string_view op_type, plain;
  std::size_t first, operands;
  std::size_t result;  // position of its scale, which its zero point follows
  int bias;            // position, -1 for none
};

// Source: ONNX Operators.md; ONNX Runtime docs/ContribOperators.md.
constexpr std::array kRows = {
    Row{"QGemm", "Gemm", 0, 2, 7, 6},
    Row{"QLinearAdd", "Add", 0, 2, 6, -1},
    Row{"QLinearAveragePool", "AveragePool", 0, 1, 3, -1},
    Row{"QLinearConv", "Conv", 0, 2, 6, 8},
    Row{"QLinearGlobalAveragePool", "GlobalAveragePool", 0, 1, 3, -1},
    Row{"QLinearLeakyRelu", "LeakyRelu", 0, 1, 3, -1},
    Row{"QLinearMatMul", "MatMul", 0, 2, 6, -1},
    Row{"QLinearMul", "Mul", 0, 2, 6, -1},
    Row{"QLinearReduceMean", "ReduceMean", 0, 1, 3, -1},
    Row{"QLinearSigmoid", "Sigmoid", 0, 1, 3, -1},
    Row{"QLinearSoftmax", "Softmax", 0, 1, 3, -1},
    Row{"QLinearWhere", "Where", 1, 2, 7, -1},
};

// Others that make a model one of this kind. Sorted.
constexpr std::array<std::string_view, 9> kOthers = {
    "ConvInteger",  "DynamicQuantizeLinear", "DynamicQuantizeMatMul", "GatherBlockQuantized",
    "MatMulBnb4",   "MatMulInteger",         "MatMulIntegerToFloat",  "MatMulNBits",
    "QLinearConcat"};

bool OfTheseDomains(const format::Node& node) {
  return format::IsOnnxDomain(node.domain) || node.domain == kMicrosoft;
}

const Row* FindRow(const format::Node& node) {
  const auto* row = std::ranges::find(kRows, std::string_view(node.op_type), &Row::op_type);
  return row == kRows.end() || !OfTheseDomains(node) ? nullptr : row;
}

// Y_scale, Y_zero_point, then a triple for each tensor.
QOperatorLayout ConcatLayout(const format::Node& node) {
  QOperatorLayout layout{"Concat", {}, {}, OperandSlots{0, 0, 1}, std::nullopt};
  for (std::size_t i = 2; i < node.inputs.size(); i += 3)
    layout.operands.push_back({i, i + 1, i + 2});
  return layout;
}

}  // namespace

std::optional<QOperatorLayout> LayoutOf(const format::Node& node) {
  if (IsContrib(node, "QLinearConcat")) return ConcatLayout(node);
  if (IsContrib(node, "MatMulIntegerToFloat"))
    return QOperatorLayout{"MatMul", {}, {{0, 2, 4}, {1, 3, 5}}, std::nullopt, std::nullopt};
  const Row* row = FindRow(node);
  if (row == nullptr) return std::nullopt;
  QOperatorLayout layout{row->plain, {}, {}, OperandSlots{0, row->result, row->result + 1}, {}};
  for (std::size_t i = 0; i < row->first; ++i) layout.untouched.push_back(i);
  for (std::size_t i = 0; i < row->operands; ++i) {
    const std::size_t at = row->first + 3 * i;
    layout.operands.push_back({at, at + 1, at + 2});
  }
  if (row->bias >= 0) layout.bias = static_cast<std::size_t>(row->bias);
  return layout;
}

std::string_view DomainOf(std::string_view op_type) {
  static constexpr std::array<std::string_view, 5> kOwn = {
      "ConvInteger", "DynamicQuantizeLinear", "MatMulInteger", "QLinearConv", "QLinearMatMul"};
  return std::ranges::binary_search(kOwn, op_type) ? "" : kMicrosoft;
}

bool IsContrib(const format::Node& node, std::string_view op_type) {
  return node.op_type == op_type && OfTheseDomains(node);
}

bool IsQOperator(const format::Node& node) {
  return OfTheseDomains(node) &&
         (FindRow(node) != nullptr ||
          std::ranges::binary_search(kOthers, std::string_view(node.op_type)));
}

bool HasQOperator(const Source& source) {
  return source.onnx && AnyNode(*source.onnx, [](const format::Node& node) {
           return IsQOperator(node) || IsContribNode(node);
         });
}

}  // namespace qtx::convert
