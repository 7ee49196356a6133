// Counts a model's multiply-adds and bytes.
#include <optional>

#include "qtx/bench/workload.h"
#include "qtx/format/attributes.h"

namespace qtx::bench {
namespace {

using format::Dims;
using format::Graph;

std::optional<Dims> DimsOf(const Graph& graph, const std::string& name) {
  if (const format::TensorData* constant = graph.FindInitializer(name)) return constant->dims;
  const format::ValueInfo* value = graph.FindValue(name);
  if (value == nullptr || !value->type || !value->type->shape) return std::nullopt;
  return format::FixedDims(*value->type->shape);
}

std::int64_t CountOf(const Dims& dims) { return format::ElementCount(dims).value_or(0); }

// Number of products per output element.
std::int64_t Depth(const format::Node& node, const Dims& a, const Dims& b) {
  if (node.op_type == "Conv" && !b.empty() && b[0] > 0) return CountOf(b) / b[0];
  if (node.op_type == "MatMul" && !a.empty()) return a.back();
  if (node.op_type == "Gemm" && a.size() == 2)
    return a[format::Attributes(node).Int("transA") != 0 ? 0 : 1];
  return 0;
}

std::int64_t BytesOf(const format::ValueInfo& value) {
  if (!value.type || !value.type->shape) return 0;
  const auto dims = format::FixedDims(*value.type->shape);
  if (!dims) return 0;
  return format::PackedBytes(value.type->elem_type, CountOf(*dims)).value_or(0);
}

}  // namespace

std::int64_t CountMultiplyAdds(const format::Model& model) {
  std::int64_t count = 0;
  for (const format::Node& node : model.graph.nodes) {
    if (node.inputs.size() < 2 || node.outputs.empty() || !node.domain.empty()) continue;
    const auto a = DimsOf(model.graph, node.inputs[0]);
    const auto b = DimsOf(model.graph, node.inputs[1]);
    const auto y = DimsOf(model.graph, node.outputs[0]);
    if (a && b && y) count += CountOf(*y) * Depth(node, *a, *b);
  }
  return count;
}

std::int64_t CountBytes(const format::Model& model) {
  std::int64_t bytes = 0;
  for (const format::TensorData& constant : model.graph.initializers) {
    bytes += format::PackedBytes(constant.data_type, CountOf(constant.dims)).value_or(0);
  }
  for (const format::ValueInfo& input : model.graph.inputs) bytes += BytesOf(input);
  for (const format::ValueInfo& output : model.graph.outputs) bytes += BytesOf(output);
  return bytes;
}

}  // namespace qtx::bench
