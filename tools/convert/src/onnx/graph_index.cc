#include "onnx/graph_index.h"

#include "qtx/format/scopes.h"

namespace qtx::convert {
Result<GraphIndex> GraphIndex::Of(const format::Model& model) {
  GraphIndex index;
  index.model_ = &model;
  const format::Graph& graph = model.graph;
  for (const format::Node& node : graph.nodes) {
    if (!format::HasBodies(node)) continue;
    return Error{ErrorCode::kUnsupported, PlaceOf(node), "has a subgraph as an attribute"};
  }
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const std::string& output : graph.nodes[i].outputs) {
      if (output.empty() || index.producers_.emplace(output, i).second) continue;
      return Error{ErrorCode::kInvalid, "value '" + output + "'", "produced by two nodes"};
    }
    for (const std::string& input : graph.nodes[i].inputs) index.consumers_[input].push_back(i);
  }
  for (const format::TensorData& data : graph.initializers)
    index.initializers_.emplace(data.name, &data);
  for (const auto* list : {&graph.inputs, &graph.outputs, &graph.values}) {
    for (const format::ValueInfo& info : *list) {
      if (info.type) index.types_.emplace(info.name, &*info.type);
    }
  }
  for (const format::ValueInfo& info : graph.inputs) index.inputs_.insert(info.name);
  for (const format::ValueInfo& info : graph.outputs) index.outputs_.insert(info.name);
  return index;
}

std::optional<std::size_t> GraphIndex::Producer(const std::string& value) const {
  const auto found = producers_.find(value);
  return found == producers_.end() ? std::nullopt : std::optional(found->second);
}

const std::vector<std::size_t>& GraphIndex::Consumers(const std::string& value) const {
  static const std::vector<std::size_t> kNone;
  const auto found = consumers_.find(value);
  return found == consumers_.end() ? kNone : found->second;
}

const format::TensorData* GraphIndex::Initializer(const std::string& value) const {
  const auto found = initializers_.find(value);
  return found == initializers_.end() ? nullptr : found->second;
}

const format::TensorType* GraphIndex::TypeOf(const std::string& value) const {
  const auto found = types_.find(value);
  return found == types_.end() ? nullptr : found->second;
}

Result<std::optional<format::Tensor>> GraphIndex::Constant(const std::string& value) const {
  const format::TensorData* data = IsInput(value) ? nullptr : Initializer(value);
  if (const auto producer = Producer(value);
      data == nullptr && producer && IsStock(node(*producer), "Constant")) {
    const format::Attribute* attribute = node(*producer).Find("value");
    if (attribute != nullptr && attribute->t) data = &*attribute->t;
  }
  if (data == nullptr) return std::optional<format::Tensor>();
  auto tensor = format::Decode(*data, model_->folder);
  if (!tensor.has_value()) return At("initializer '" + value + "'", tensor.error());
  return std::optional(*std::move(tensor));
}

std::optional<std::int64_t> GraphIndex::RankOf(const std::string& value) const {
  if (const format::TensorData* data = Initializer(value))
    return static_cast<std::int64_t>(data->dims.size());
  if (const auto producer = Producer(value); producer && IsStock(node(*producer), "Constant")) {
    const format::Attribute* constant = node(*producer).Find("value");
    if (constant != nullptr && constant->t)
      return static_cast<std::int64_t>(constant->t->dims.size());
  }
  const format::TensorType* type = TypeOf(value);
  if (type == nullptr || !type->shape) return std::nullopt;
  return static_cast<std::int64_t>(type->shape->size());
}

std::vector<std::string> GraphIndex::AllNames() const {
  std::vector<std::string> names(inputs_.begin(), inputs_.end());
  for (const auto& [name, unused] : producers_) names.push_back(name);
  for (const auto& [name, unused] : initializers_) names.push_back(name);
  for (const auto& [name, unused] : types_) names.push_back(name);
  return names;
}

}  // namespace qtx::convert
