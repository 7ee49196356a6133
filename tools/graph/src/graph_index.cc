#include "qtx/graph/graph_index.h"

#include <algorithm>

#include "qtx/format/scopes.h"

namespace qtx::graph {
namespace {

using format::ElementType;

// The tensor of a Constant node, or nullptr.
const format::TensorData* ValueOf(const format::Node& node) {
  const format::Attribute* value = IsStock(node, "Constant") ? node.Find("value") : nullptr;
  return value != nullptr && value->t ? &*value->t : nullptr;
}

}  // namespace

GraphIndex::GraphIndex(const format::Model& model) : view_(format::ModelView::Indexed(model)) {
  const format::Graph& graph = model.graph;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const format::Node& node = graph.nodes[i];
    for (std::size_t k = 0; k < node.inputs.size(); ++k) uses_[node.inputs[k]].push_back({i, k});
    for (const std::string& output : node.outputs) {
      if (output.empty() || producers_.emplace(output, i).second) continue;
      if (twice_ == nullptr) twice_ = &output;
    }
  }
  for (const format::ValueInfo& info : graph.inputs) inputs_.insert(info.name);
  for (const format::ValueInfo& info : graph.outputs) outputs_.insert(info.name);
}

Result<GraphIndex> GraphIndex::Of(const format::Model& model) {
  for (const format::Node& node : model.graph.nodes) {
    if (!format::HasBodies(node)) continue;
    return Error{ErrorCode::kUnsupported, PlaceOf(node), "has a subgraph as an attribute"};
  }
  GraphIndex index(model);
  if (index.twice_ == nullptr) return index;
  return Error{ErrorCode::kInvalid, "value '" + *index.twice_ + "'", "produced by two nodes"};
}

std::optional<std::size_t> GraphIndex::Producer(const std::string& value) const {
  const auto found = producers_.find(value);
  return found == producers_.end() ? std::nullopt : std::optional(found->second);
}

const std::vector<Use>& GraphIndex::Uses(const std::string& value) const {
  static const std::vector<Use> kNone;
  const auto found = uses_.find(value);
  return found == uses_.end() ? kNone : found->second;
}

std::optional<Use> GraphIndex::OnlyUse(const std::string& value) const {
  const auto& uses = Uses(value);
  return uses.size() == 1 && !IsOutput(value) ? std::optional(uses[0]) : std::nullopt;
}

std::optional<Use> GraphIndex::OnlyUseBeside(const std::string& value) const {
  const auto use = OnlyUse(value);
  const bool beside = use && std::ranges::any_of(node(use->node).outputs, [&](const auto& output) {
                        return !output.empty() && format::AreOfOneGraph(value, output);
                      });
  return beside ? use : std::nullopt;
}

const format::TensorType* GraphIndex::TypeOf(const std::string& value) const {
  const format::ValueInfo* info = view_.FindValue(value);
  return info != nullptr && info->type ? &*info->type : nullptr;
}

Result<std::optional<format::Tensor>> GraphIndex::Constant(const std::string& value) const {
  const format::TensorData* data = IsInput(value) ? nullptr : Initializer(value);
  if (const auto producer = Producer(value); data == nullptr && producer)
    data = ValueOf(node(*producer));
  if (data == nullptr) return std::optional<format::Tensor>();
  auto tensor = format::Decode(*data, model().folder);
  if (!tensor.has_value()) return At("initializer '" + value + "'", tensor.error());
  return std::optional(*std::move(tensor));
}

bool GraphIndex::IsFloatConstant(const std::string& value) const {
  const format::TensorData* data = Initializer(value);
  return data != nullptr && data->data_type == ElementType::kFloat && !IsInput(value);
}

bool GraphIndex::IsFloatValue(const std::string& value) const {
  const format::TensorType* type = TypeOf(value);
  return type != nullptr && type->elem_type == ElementType::kFloat && !IsFloatConstant(value);
}

std::optional<std::int64_t> GraphIndex::RankOf(const std::string& value) const {
  const format::TensorData* data = Initializer(value);
  if (const auto producer = Producer(value); data == nullptr && producer)
    data = ValueOf(node(*producer));
  if (data != nullptr) return std::ssize(data->dims);
  const format::TensorType* type = TypeOf(value);
  if (type == nullptr || !type->shape) return std::nullopt;
  return std::ssize(*type->shape);
}

std::string PlaceOf(const format::Node& node) {
  const std::string& name =
      node.name.empty() && !node.outputs.empty() ? node.outputs[0] : node.name;
  return "node '" + name + "' (" + node.op_type + ")";
}

}  // namespace qtx::graph
