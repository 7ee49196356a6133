#include "stored_io.h"

#include <algorithm>
#include <set>
#include <utility>

#include "qtx/format/annotation.h"

namespace qtx::python {
namespace {

using format::Graph;
using format::Node;
using format::ValueInfo;

// The value of that name if it is quantized, else nullptr.
const ValueInfo* FindQuantized(const std::vector<ValueInfo>& values, const std::string& name) {
  const auto found = std::ranges::find(values, name, &ValueInfo::name);
  const bool is_quantized =
      found != values.end() && found->type && format::IsQuantized(found->type->elem_type);
  return is_quantized ? &*found : nullptr;
}

std::vector<std::size_t> ReadersOf(const Graph& graph, const std::string& name) {
  std::vector<std::size_t> readers;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const auto& inputs = graph.nodes[i].inputs;
    if (std::ranges::find(inputs, name) != inputs.end()) readers.push_back(i);
  }
  return readers;
}

// `value` becomes the integers of this name.
void BecomeStored(ValueInfo& value, const std::string& name, format::ElementType quantized,
                  Graph& graph) {
  format::TensorType stored;
  stored.elem_type = format::StorageOf(quantized);
  if (value.type) stored.shape = value.type->shape;
  value.name = name;
  value.type = std::move(stored);
  std::erase_if(graph.values, [&](const ValueInfo& other) { return other.name == name; });
}

Result<void> StoreInput(ValueInfo& input, format::ElementType quantized, Graph& graph) {
  const std::vector<std::size_t> readers = ReadersOf(graph, input.name);
  if (readers.size() != 1 || !format::IsStock(graph.nodes[readers[0]], "QuantizeLinear")) {
    return Error{ErrorCode::kUnsupported, "graph.input '" + input.name + "'",
                 "expected one QuantizeLinear that reads it, found " +
                     std::to_string(readers.size()) + " nodes"};
  }
  const std::string stored = graph.nodes[readers[0]].outputs.at(0);
  graph.nodes.erase(graph.nodes.begin() + static_cast<std::ptrdiff_t>(readers[0]));
  BecomeStored(input, stored, quantized, graph);
  return {};
}

Result<void> StoreOutput(ValueInfo& output, format::ElementType quantized, Graph& graph) {
  const std::string real = output.name;
  const auto producer = std::ranges::find_if(graph.nodes, [&](const Node& node) {
    return std::ranges::find(node.outputs, real) != node.outputs.end();
  });
  if (producer == graph.nodes.end() || !format::IsStock(*producer, "DequantizeLinear")) {
    return Error{ErrorCode::kUnsupported, "graph.output '" + real + "'",
                 "expected a DequantizeLinear that gives it"};
  }
  const std::string stored = producer->inputs.at(0);
  if (ReadersOf(graph, real).empty()) graph.nodes.erase(producer);
  BecomeStored(output, stored, quantized, graph);
  return {};
}

}  // namespace

Result<format::Model> WithStoredIo(format::Model lowered, const format::Model& extended) {
  Graph& graph = lowered.graph;
  for (ValueInfo& input : graph.inputs) {
    const ValueInfo* const value = FindQuantized(extended.graph.inputs, input.name);
    if (value == nullptr) continue;
    QTX_RETURN_IF_ERROR(StoreInput(input, value->type->elem_type, graph));
  }
  for (ValueInfo& output : graph.outputs) {
    const ValueInfo* const value = FindQuantized(extended.graph.outputs, output.name);
    if (value == nullptr) continue;
    QTX_RETURN_IF_ERROR(StoreOutput(output, value->type->elem_type, graph));
  }
  format::EraseLoweringRecord(lowered.metadata);  // fewer values are annotated than it says
  return lowered;
}

format::Model WithOutputs(format::Model model, const std::vector<std::string>& names) {
  Graph& graph = model.graph;
  const std::set<std::string_view> wanted(names.begin(), names.end());
  std::set<std::string> outputs;
  for (const ValueInfo& output : graph.outputs) outputs.insert(output.name);
  for (const Node& node : graph.nodes) {
    for (const std::string& name : node.outputs) {
      if (!wanted.contains(name) || !outputs.insert(name).second) continue;
      const ValueInfo* const value = graph.FindValue(name);
      graph.outputs.push_back(value == nullptr ? ValueInfo{.name = name} : *value);
    }
  }
  return model;
}

}  // namespace qtx::python
