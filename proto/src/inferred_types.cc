// Declarations of the values whose type and shape follow.
#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <utility>

#include "qtx/format/inference.h"

namespace qtx::format {
namespace {

Dimension DimensionOf(std::int64_t size, const Inference& inference) {
  if (size >= 0) return {.value = size, .symbol = {}};
  return {.value = {}, .symbol = std::string(inference.Symbol(size))};
}

void AddSizes(const Dims& dims, const Inference& inference, std::optional<Shape>& shape) {
  if (!shape) shape.emplace(dims.size());
  for (std::size_t i = 0; i < dims.size() && shape->size() == dims.size(); ++i) {
    Dimension& declared = (*shape)[i];
    if (declared.value || !declared.symbol.empty()) continue;
    Dimension known = DimensionOf(dims[i], inference);
    known.unknown_fields = std::move(declared.unknown_fields);
    declared = std::move(known);
  }
}

// A quantized type that is not declared has no parameters.
void Complete(const ValueFacts& facts, const Inference& inference, ValueInfo& value) {
  if (!value.type) {
    const bool other = !value.type_unknown_fields.empty();  // a sequence, ...
    if (other || facts.type == ElementType::kUndefined || IsQuantized(facts.type)) return;
    value.type.emplace().elem_type = facts.type;
  } else if (value.type->elem_type == ElementType::kUndefined && !IsQuantized(facts.type)) {
    value.type->elem_type = facts.type;
  }
  if (facts.dims) AddSizes(*facts.dims, inference, value.type->shape);
}

}  // namespace

Model WithInferredTypes(const Model& model) {
  const FlatModel flat(model);
  const Inference inference(flat);
  Model inferred = flat.model();
  Graph& graph = inferred.graph;
  std::unordered_map<std::string, ValueInfo*> declared;
  for (auto* list : {&graph.inputs, &graph.outputs, &graph.values}) {
    for (ValueInfo& value : *list) declared.emplace(value.name, &value);
  }
  std::vector<ValueInfo> added;
  for (const Node& node : graph.nodes) {
    for (const std::string& output : node.outputs) {
      const ValueFacts* facts = output.empty() ? nullptr : inference.Find(output);
      if (facts == nullptr) continue;
      if (const auto found = declared.find(output); found != declared.end()) {
        Complete(*facts, inference, *found->second);
        continue;
      }
      ValueInfo value;
      value.name = output;
      Complete(*facts, inference, value);
      if (value.type) added.push_back(std::move(value));
    }
  }
  std::ranges::move(added, std::back_inserter(graph.values));
  auto nested = flat.Nest(std::move(inferred));
  return nested.has_value() ? *std::move(nested) : model;
}

}  // namespace qtx::format
