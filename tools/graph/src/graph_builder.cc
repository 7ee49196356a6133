#include "qtx/graph/graph_builder.h"

#include <algorithm>

namespace qtx::graph {
namespace {

using format::ElementType;

format::ValueInfo Declared(const std::string& name, format::TensorType type) {
  format::ValueInfo info;
  info.name = name;
  info.type = std::move(type);
  return info;
}

}  // namespace

Names::Names(const format::Graph& graph) {
  for (const auto* list : {&graph.inputs, &graph.outputs, &graph.values}) {
    for (const format::ValueInfo& info : *list) Take(info.name);
  }
  for (const format::TensorData& data : graph.initializers) Take(data.name);
  for (const format::Node& node : graph.nodes) {
    for (const auto* list : {&node.inputs, &node.outputs}) {
      for (const std::string& name : *list) Take(name);
    }
  }
}

std::string Names::Unique(const std::string& wanted) {
  if (Take(wanted)) return wanted;
  std::string name;
  do {
    name = wanted + "#" + std::to_string(next_.at(Bare(wanted))++);
  } while (!Take(name));
  return name;
}

void GraphBuilder::AddInput(const std::string& name, format::TensorType type) {
  names_.Take(name);
  graph_.inputs.push_back(Declared(name, std::move(type)));
}

void GraphBuilder::AddOutput(const std::string& name, format::TensorType type) {
  names_.Take(name);
  graph_.outputs.push_back(Declared(name, std::move(type)));
}

void GraphBuilder::Declare(const std::string& name, format::TensorType type) {
  names_.Take(name);
  graph_.values.push_back(Declared(name, std::move(type)));
}

std::string GraphBuilder::Inner(const std::string& wanted, format::TensorType type) {
  std::string name = Unique(wanted);
  Declare(name, std::move(type));
  return name;
}

void GraphBuilder::SetConstant(const std::string& name, const format::Tensor& tensor) {
  if (tensor.quantization)
    Declare(name, {tensor.elem_type, format::ToShape(tensor.dims), tensor.quantization, {}, ""});
  graph_.initializers.push_back(format::ToTensorData(name, tensor));
}

std::string GraphBuilder::AddConstant(const std::string& wanted, const format::Tensor& tensor) {
  std::string name = Unique(wanted);
  SetConstant(name, tensor);
  return name;
}

std::string GraphBuilder::AddInts(const std::string& wanted, std::span<const std::int64_t> values) {
  return AddConstant(wanted, IntsTensor(values));
}

void GraphBuilder::Add(const std::string& stem, Draft draft, std::vector<std::string> outputs,
                       std::optional<format::Origin> origin) {
  read_.insert(draft.inputs.begin(), draft.inputs.end());
  format::Node& node = graph_.nodes.emplace_back();
  node.name = node_names_.Unique(stem + "/" + draft.op_type);
  node.op_type = std::move(draft.op_type);
  node.domain = std::move(draft.domain);
  node.inputs = std::move(draft.inputs);
  node.outputs = std::move(outputs);
  node.attributes = std::move(draft.attributes);
  node.origin = std::move(origin);
}

format::Graph GraphBuilder::Finish() {
  std::set<std::string_view> edges;
  for (const auto* list : {&graph_.inputs, &graph_.outputs}) {
    for (const format::ValueInfo& info : *list) edges.insert(info.name);
  }
  std::erase_if(graph_.values, [&](const auto& info) { return edges.contains(info.name); });
  return std::move(graph_);
}

format::Tensor IntsTensor(std::span<const std::int64_t> values) {
  const auto bytes = std::as_bytes(values);
  return {ElementType::kInt64, {std::ssize(values)}, std::nullopt, {bytes.begin(), bytes.end()}};
}

format::Tensor FloatTensor(float value) {
  const auto bytes = std::as_bytes(std::span(&value, 1));
  return {ElementType::kFloat, {}, std::nullopt, {bytes.begin(), bytes.end()}};
}

}  // namespace qtx::graph
