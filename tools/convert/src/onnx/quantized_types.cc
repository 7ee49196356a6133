#include "onnx/quantized_types.h"

#include <cstring>

#include "errors.h"
#include "qtx/format/levels.h"
#include "qtx/format/scopes.h"

namespace qtx::convert {

std::string PlaceOfValue(const std::string& name) { return "value '" + name + "'"; }

Result<QuantizedTypes> QuantizedTypesOf(const format::Model& model) {
  QuantizedTypes types;
  for (const auto* list : {&model.graph.inputs, &model.graph.outputs, &model.graph.values}) {
    for (const format::ValueInfo& info : *list) {
      if (!info.type || !format::IsQuantized(info.type->elem_type)) continue;
      if (!info.type->quantization) return Invalid(PlaceOfValue(info.name), "has no quantization");
      format::TensorType type = *info.type;
      auto inline_form = format::Resolve(model, type);
      if (!inline_form.has_value()) return At(PlaceOfValue(info.name), inline_form.error());
      type.quantization = *std::move(inline_form);
      types.emplace(info.name, std::move(type));
    }
  }
  return types;
}

NameSource::NameSource(const GraphIndex& index) {
  for (const std::string& name : index.AllNames())
    names_.insert(std::string(format::BareName(name)));
}

std::string NameSource::Unique(const std::string& name) {
  std::string unique = name;
  for (int n = 2; !names_.insert(std::string(format::BareName(unique))).second; ++n)
    unique = name + "#" + std::to_string(n);
  return unique;
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
