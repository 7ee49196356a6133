#include "onnx/quantized_types.h"

#include <cmath>
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
      if (const format::ElementType real = format::RealTypeOf(*info.type->quantization);
          !format::IsRealType(real)) {
        return Invalid(PlaceOfValue(info.name), "found real_type " +
                                                    std::to_string(static_cast<int>(real)) +
                                                    ", expected FLOAT, FLOAT16 or BFLOAT16");
      }
      format::TensorType type = *info.type;
      auto inline_form = format::Resolve(view, type, info.name);
      if (!inline_form.has_value()) return At(PlaceOfValue(info.name), inline_form.error());
      type.quantization = *std::move(inline_form);
      types.emplace(info.name, std::move(type));
    }
  }
  return types;
}

Result<format::Tensor> RealBound(const format::Quantization& q, std::int64_t stored) {
  const double scale = static_cast<double>(q.scale[0]);
  const std::int32_t offset = format::OffsetAt(q, 0);
  const auto real = static_cast<float>(scale * static_cast<double>(stored - offset));
  format::Tensor tensor{format::RealTypeOf(q), {}, std::nullopt, {}};
  if (tensor.elem_type == format::ElementType::kFloat) {
    tensor.bytes.resize(sizeof real);
    std::memcpy(tensor.bytes.data(), &real, sizeof real);
    return tensor;
  }
  const std::uint32_t code = format::EncodeSmallFloat(tensor.elem_type, static_cast<double>(real));
  const double half = format::DecodeSmallFloat(tensor.elem_type, code);
  const float quotient = static_cast<float>(half) / q.scale[0];
  if (std::nearbyint(static_cast<double>(quotient)) + offset != static_cast<double>(stored))
    return Unsupported("quant_min or quant_max " + std::to_string(stored) + ": the nearest " +
                       std::string(format::Name(tensor.elem_type)) + " is another stored value");
  tensor.bytes.resize(sizeof(std::uint16_t));
  tensor.As<std::uint16_t>()[0] = static_cast<std::uint16_t>(code);
  return tensor;
}

}  // namespace qtx::convert
