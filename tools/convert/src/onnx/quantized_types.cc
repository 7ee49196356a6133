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

namespace {

Result<void> CheckDeclared(const format::ValueInfo& info) {
  if (!info.type->quantization) return Invalid(PlaceOfValue(info.name), "has no quantization");
  const format::ElementType real = format::RealTypeOf(*info.type->quantization);
  if (format::IsRealType(real)) return {};
  return Invalid(PlaceOfValue(info.name), "found real_type " +
                                              std::to_string(static_cast<int>(real)) +
                                              ", expected FLOAT, FLOAT16 or BFLOAT16");
}

}  // namespace

Result<format::TensorType> WithInlineParameters(const format::ModelView& view,
                                                const format::TensorType& declared,
                                                const std::string& name) {
  format::TensorType type = declared;
  auto inline_form = format::Resolve(view, type, name);
  if (!inline_form.has_value()) return At(PlaceOfValue(name), inline_form.error());
  type.quantization = *std::move(inline_form);
  return type;
}

Result<QuantizedTypes> QuantizedTypesOf(const format::Model& model, Initializers initializers) {
  QuantizedTypes types;
  const format::ModelView view = format::ModelView::Indexed(model);
  for (const auto* list : {&model.graph.inputs, &model.graph.outputs, &model.graph.values}) {
    for (const format::ValueInfo& info : *list) {
      if (!info.type || !format::IsQuantized(info.type->elem_type)) continue;
      QTX_RETURN_IF_ERROR(CheckDeclared(info));
      const bool as_declared =
          initializers == Initializers::kAsDeclared && view.FindInitializer(info.name) != nullptr;
      format::TensorType type = *info.type;
      if (!as_declared) {
        QTX_ASSIGN_OR_RETURN(type, WithInlineParameters(view, type, info.name));
      }
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
