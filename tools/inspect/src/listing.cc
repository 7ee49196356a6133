#include <algorithm>
#include <iterator>
#include <unordered_map>

#include "qtx/format/inference.h"
#include "qtx/format/rename.h"
#include "qtx/format/scopes.h"
#include "qtx/inspect/inspect.h"

namespace qtx::inspect {
namespace {

using format::ValueInfo;

void Rename(const format::FlatModel& flat, ValueInfo& value) {
  value.name = flat.Readable(value.name);
  if (!value.type || !value.type->quantization) return;
  format::Quantization& q = *value.type->quantization;
  q.scale_tensor = flat.Readable(q.scale_tensor);
  q.offset_tensor = flat.Readable(q.offset_tensor);
  q.code_book_tensor = flat.Readable(q.code_book_tensor);
  for (auto* levels : {&q.scale_levels, &q.base_levels}) {
    for (auto& level : *levels) level.tensor = flat.Readable(level.tensor);
  }
}

// Those of bodies are no inputs and outputs of the model.
void MoveToValues(std::vector<ValueInfo>& ends, std::vector<ValueInfo>& values) {
  const auto of_bodies = std::stable_partition(
      ends.begin(), ends.end(), [](const auto& end) { return !format::IsOfBody(end.name); });
  std::move(of_bodies, ends.end(), std::back_inserter(values));
  ends.erase(of_bodies, ends.end());
}

}  // namespace

Result<format::Model> Listing(const format::Model& model) {
  const format::FlatModel flat(model);
  format::Model listing = flat.model();
  if (&flat.model() == &model) return listing;
  format::Graph& graph = listing.graph;
  MoveToValues(graph.inputs, graph.values);
  MoveToValues(graph.outputs, graph.values);
  for (auto* list : {&graph.inputs, &graph.outputs, &graph.values}) {
    for (ValueInfo& value : *list) Rename(flat, value);
  }
  for (format::Node& node : graph.nodes) {
    node.name = flat.Readable(node.name);
    for (auto* names : {&node.inputs, &node.outputs}) {
      for (std::string& name : *names) name = flat.Readable(name);
    }
  }
  for (format::TensorData& data : graph.initializers) {
    const std::string name = flat.Readable(data.name);
    QTX_ASSIGN_OR_RETURN(data, format::Renamed(std::move(data), name));
  }
  return listing;
}

Result<std::vector<ValueInfo>> Inferred(const format::Model& model, const format::Model& listing) {
  std::unordered_map<std::string_view, const ValueInfo*> declared;
  const format::Graph& graph = listing.graph;
  for (const auto* list : {&graph.inputs, &graph.outputs, &graph.values}) {
    for (const ValueInfo& value : *list) declared.emplace(value.name, &value);
  }
  QTX_ASSIGN_OR_RETURN(format::Model full, Listing(format::WithInferredTypes(model)));
  std::vector<ValueInfo> inferred;
  for (auto* list : {&full.graph.inputs, &full.graph.outputs, &full.graph.values}) {
    for (ValueInfo& value : *list) {
      const auto found = declared.find(value.name);
      if (found == declared.end() || found->second->type != value.type)
        inferred.push_back(std::move(value));
    }
  }
  return inferred;
}

std::vector<Body> Bodies(const format::Model& model) {
  const format::FlatModel flat(model);
  std::vector<Body> bodies;
  for (std::size_t i = 1; i < flat.scopes().size(); ++i) {
    const format::Scope& scope = flat.scopes()[i];
    Body& body = bodies.emplace_back(Body{scope.path, scope.node, scope.begin, scope.end, {}});
    for (const std::string& output : scope.outputs) body.outputs.push_back(flat.Readable(output));
  }
  return bodies;
}

}  // namespace qtx::inspect
