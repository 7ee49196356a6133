#include "onnx/quantized_types.h"

#include <cstring>

#include "errors.h"
#include "qtx/format/levels.h"

namespace qtx::convert {

std::set<std::string> NamedParameters(const format::Graph& graph) {
  std::set<std::string> names;
  for (const auto* list : {&graph.inputs, &graph.outputs, &graph.values}) {
    for (const format::ValueInfo& info : *list) {
      if (!info.type || !info.type->quantization) continue;
      const format::Quantization& q = *info.type->quantization;
      names.insert({q.scale_tensor, q.offset_tensor, q.code_book_tensor});
      for (const auto* levels : {&q.scale_levels, &q.base_levels}) {
        for (const format::BlockFactors& level : *levels) names.insert(level.tensor);
      }
    }
  }
  return names;
}

std::string PlaceOfValue(const std::string& name) { return "value '" + name + "'"; }

Result<QuantizedTypes> QuantizedTypesOf(const format::Model& model) {
  QuantizedTypes types;
  const format::ModelView view = format::ModelView::Indexed(model);
  for (const auto* list : {&model.graph.inputs, &model.graph.outputs, &model.graph.values}) {
    for (const format::ValueInfo& info : *list) {
      if (!info.type || !format::IsQuantized(info.type->elem_type)) continue;
      if (!info.type->quantization) return Invalid(PlaceOfValue(info.name), "has no quantization");
      format::TensorType type = *info.type;
      auto inline_form = format::Resolve(view, type, info.name);
      if (!inline_form.has_value()) return At(PlaceOfValue(info.name), inline_form.error());
      type.quantization = *std::move(inline_form);
      types.emplace(info.name, std::move(type));
    }
  }
  return types;
}

format::Tensor RealBound(const format::Quantization& q, std::int64_t stored) {
  const auto real = static_cast<float>(static_cast<double>(q.scale[0]) *
                                       static_cast<double>(stored - format::OffsetAt(q, 0)));
  format::Tensor tensor{
      format::ElementType::kFloat, {}, std::nullopt, std::vector<std::byte>(sizeof real)};
  std::memcpy(tensor.bytes.data(), &real, sizeof real);
  return tensor;
}

}  // namespace qtx::convert
