#include "levels.h"

#include <set>

#include "onnx/quantized_types.h"
#include "qtx/format/levels.h"

namespace qtx::convert {
namespace {

using format::Quantization;

bool ValueHasLevels(const format::ValueInfo& info) {
  return info.type && info.type->quantization && format::HasLevels(*info.type->quantization);
}

template <typename Visit>
void ForEachValue(format::Graph& graph, const Visit& visit) {
  for (auto* list : {&graph.inputs, &graph.outputs, &graph.values}) {
    for (format::ValueInfo& info : *list) visit(info);
  }
}

// The type with one scale for each block.  Errors: kUnsupported for a base; those of Resolve.
Result<Quantization> Flattened(const format::Model& model, const format::ValueInfo& info) {
  if (format::HasBase(*info.type->quantization)) {
    return Error{ErrorCode::kUnsupported, PlaceOfValue(info.name),
                 "base_levels: the target has no base"};
  }
  auto q = format::Resolve(model, *info.type, info.name);
  if (!q.has_value()) return At(PlaceOfValue(info.name), q.error());
  return q;
}

}  // namespace

void DropFactors(std::set<std::string> factors, format::Graph& graph) {
  for (const format::Node& node : graph.nodes) {
    for (const std::string& name : node.inputs) factors.erase(name);
  }
  for (const format::ValueInfo& output : graph.outputs) factors.erase(output.name);
  ForEachValue(graph, [&](const format::ValueInfo& info) {
    if (!info.type || !info.type->quantization) return;
    factors.erase(info.type->quantization->scale_tensor);
    factors.erase(info.type->quantization->offset_tensor);
    for (const auto* levels :
         {&info.type->quantization->scale_levels, &info.type->quantization->base_levels}) {
      for (const auto& level : *levels) factors.erase(level.tensor);
    }
  });
  const auto gone = [&](const auto& item) { return factors.contains(item.name); };
  std::erase_if(graph.initializers, gone);
  std::erase_if(graph.values, gone);
}

Result<format::Model> WithoutLevels(const format::Model& model, Ledger& ledger) {
  format::Model flat = model;
  std::set<std::string> factors, told;
  for (auto* list : {&flat.graph.inputs, &flat.graph.outputs, &flat.graph.values}) {
    for (format::ValueInfo& info : *list) {
      if (!ValueHasLevels(info)) continue;
      for (const auto& level : info.type->quantization->scale_levels) factors.insert(level.tensor);
      QTX_ASSIGN_OR_RETURN(info.type->quantization, Flattened(model, info));
      if (told.insert(info.name).second)
        ledger.Changed(info.name, "scale_levels", "one scale for each block, their product");
    }
  }
  DropFactors(std::move(factors), flat.graph);
  for (format::OpsetImport& import : flat.opset_imports) {
    if (import.domain == format::kDomain) import.version = format::FormatVersion(flat);
  }
  return flat;
}

Result<void> CheckIntegerForms(const format::Model& model) {
  const format::ModelView view = format::ModelView::Indexed(model);
  for (const auto* list : {&model.graph.inputs, &model.graph.outputs, &model.graph.values}) {
    for (const format::ValueInfo& info : *list) {
      if (!info.type || !info.type->quantization || !format::IsQuantized(info.type->elem_type))
        continue;
      const std::string place = PlaceOfValue(info.name);
      const auto q = format::Resolve(view, *info.type, info.name);
      if (!q.has_value()) return At(place, q.error());
      if (format::HasCodeBook(*q))
        return Error{ErrorCode::kUnsupported, place,
                     "code_book: the target has no tables of values; kind qdq looks them up"};
      if (format::HasSignedScale(*q))
        return Error{ErrorCode::kUnsupported, place,
                     "scale: the target has none of 0 or below; kind qdq has"};
    }
  }
  return {};
}

}  // namespace qtx::convert
