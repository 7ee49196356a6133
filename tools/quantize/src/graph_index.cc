#include "graph_index.h"

namespace qtx::quantize {

using format::ElementType;

GraphIndex::GraphIndex(const format::Model& model) : model_(&model) {
  const format::Graph& graph = model.graph;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const format::Node& node = graph.nodes[i];
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      if (!node.inputs[k].empty()) uses_[node.inputs[k]].push_back({i, k});
    }
    for (const std::string& output : node.outputs) {
      if (!output.empty()) producers_.emplace(output, i);
    }
  }
  for (const format::TensorData& data : graph.initializers) initializers_.emplace(data.name, &data);
  for (const auto* list : {&graph.inputs, &graph.outputs, &graph.values}) {
    for (const format::ValueInfo& info : *list) {
      if (info.type) types_.emplace(info.name, &*info.type);
    }
  }
  for (const format::ValueInfo& info : graph.inputs) inputs_.insert(info.name);
  for (const format::ValueInfo& info : graph.outputs) outputs_.insert(info.name);
}

std::optional<std::size_t> GraphIndex::Producer(const std::string& value) const {
  const auto at = producers_.find(value);
  return at == producers_.end() ? std::nullopt : std::optional(at->second);
}

const std::vector<Use>& GraphIndex::Uses(const std::string& value) const {
  static const std::vector<Use> kNone;
  const auto at = uses_.find(value);
  return at == uses_.end() ? kNone : at->second;
}

const format::TensorData* GraphIndex::Initializer(const std::string& value) const {
  const auto at = initializers_.find(value);
  return at == initializers_.end() ? nullptr : at->second;
}

const format::TensorType* GraphIndex::TypeOf(const std::string& value) const {
  const auto at = types_.find(value);
  return at == types_.end() ? nullptr : at->second;
}

bool GraphIndex::IsFloatConstant(const std::string& value) const {
  const format::TensorData* data = Initializer(value);
  return data != nullptr && data->data_type == ElementType::kFloat && !IsInput(value);
}

bool GraphIndex::IsFloatValue(const std::string& value) const {
  const format::TensorType* type = TypeOf(value);
  return type != nullptr && type->elem_type == ElementType::kFloat && !IsFloatConstant(value);
}

std::optional<Use> GraphIndex::OnlyUse(const std::string& value) const {
  const auto& uses = Uses(value);
  return uses.size() == 1 && !IsOutput(value) ? std::optional(uses[0]) : std::nullopt;
}

std::set<std::string> GraphIndex::AllNames() const {
  std::set<std::string> names = inputs_;
  names.insert(outputs_.begin(), outputs_.end());
  for (const auto& [name, node] : producers_) names.insert(name);
  for (const auto& [name, uses] : uses_) names.insert(name);
  for (const auto& [name, data] : initializers_) names.insert(name);
  for (const auto& [name, type] : types_) names.insert(name);
  return names;
}

std::string PlaceOfInitializer(const std::string& name) { return "initializer '" + name + "'"; }

Result<format::Tensor> LoadInitializer(const GraphIndex& index, const std::string& name) {
  auto tensor = format::Decode(*index.Initializer(name), index.model().folder);
  if (!tensor.has_value()) return At(PlaceOfInitializer(name), tensor.error());
  return tensor;
}

std::string PlaceOf(const format::Node& node) {
  const std::string name =
      !node.name.empty() || node.outputs.empty() ? node.name : node.outputs.front();
  return "node '" + name + "' (" + node.op_type + ")";
}

std::string NameSource::Unique(const std::string& wanted) {
  std::string name = wanted;
  for (int i = 2; !taken_.insert(name).second; ++i) name = wanted + "#" + std::to_string(i);
  return name;
}

}  // namespace qtx::quantize
