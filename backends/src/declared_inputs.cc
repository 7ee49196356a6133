#include "declared_inputs.h"

#include <algorithm>

#include "qtx/format/levels.h"
#include "qtx/format/shape.h"

namespace qtx::backend {
namespace {

Error Found(const std::string& name, std::string found, const std::string& expected) {
  return {ErrorCode::kInvalid, "input '" + name + "'",
          "found " + std::move(found) + ", expected " + expected, "backend_protocol.S13"};
}

}  // namespace

DeclaredInputs::DeclaredInputs(const format::Model& model) {
  const format::ModelView view = format::ModelView::Indexed(model);
  for (const format::ValueInfo& info : model.graph.inputs) {
    if (model.graph.FindInitializer(info.name) != nullptr) continue;
    Input& input = inputs_.emplace_back();
    input.name = info.name;
    input.type = info.type;
    if (!info.type || !info.type->quantization) continue;
    if (auto resolved = format::Resolve(view, *info.type)) input.parameters = *std::move(resolved);
  }
}

Result<void> DeclaredInputs::Check(std::span<const format::Tensor> inputs) const {
  for (std::size_t i = 0; i < std::min(inputs.size(), inputs_.size()); ++i) {
    const auto& [name, type, parameters] = inputs_[i];
    const format::Tensor& given = inputs[i];
    if (!type) continue;
    const bool is_real = type->quantization && given.elem_type == format::ElementType::kFloat;
    if (given.elem_type != type->elem_type && !is_real) {
      return Found(name, std::string(format::Name(given.elem_type)),
                   std::string(format::Name(type->elem_type)));
    }
    const auto dims = type->shape ? format::FixedDims(*type->shape) : std::nullopt;
    if (dims && given.dims != *dims) {
      return Found(name, "shape " + format::ToString(given.dims), format::ToString(*dims));
    }
    if (given.quantization && parameters &&
        !format::SameParameters(*given.quantization, *parameters)) {
      return Found(name, "other parameters", "the declared ones");
    }
  }
  return {};
}

}  // namespace qtx::backend
