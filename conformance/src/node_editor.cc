#include "node_editor.h"

#include <algorithm>
#include <utility>

#include "qtx/format/levels.h"

namespace qtx::conformance {

using format::Tensor;

const std::string* NodeEditor::Input(std::size_t i) {
  const auto& inputs = node().inputs;
  return i < inputs.size() && !inputs[i].empty() ? &inputs[i] : nullptr;
}

format::TensorType* NodeEditor::Type(const std::string* name) {
  if (name == nullptr) return nullptr;
  for (auto* values : {&graph_.inputs, &graph_.outputs, &graph_.values}) {
    const auto value = std::ranges::find(*values, *name, &format::ValueInfo::name);
    if (value != values->end()) return value->type ? &*value->type : nullptr;
  }
  return nullptr;
}

format::Quantization* NodeEditor::Parameters(const std::string* name) {
  format::TensorType* type = Type(name);
  if (type == nullptr || !type->quantization) return nullptr;
  format::Quantization& q = *type->quantization;
  const bool is_inline = q.scale_tensor.empty() && q.offset_tensor.empty() && !HasLevels(q);
  return is_inline ? &q : nullptr;
}

std::optional<format::Dims> NodeEditor::Dims(const std::string* name) {
  const format::TensorType* type = Type(name);
  if (type != nullptr && type->shape) return format::FixedDims(*type->shape);
  const auto* data = name == nullptr ? nullptr : graph_.FindInitializer(*name);
  return data == nullptr ? std::nullopt : std::optional(data->dims);
}

std::optional<Tensor> NodeEditor::Load(const std::string* name) {
  if (name == nullptr) return std::nullopt;
  if (graph_.FindInitializer(*name) != nullptr) {
    auto tensor = format::LoadInitializer(question_.model, *name);
    return tensor ? std::optional(*std::move(tensor)) : std::nullopt;
  }
  std::size_t next = 0;
  for (const format::ValueInfo& info : graph_.inputs) {
    if (graph_.FindInitializer(info.name) != nullptr) continue;
    if (next >= question_.inputs.size()) break;
    if (info.name == *name) return question_.inputs[next];
    ++next;
  }
  return std::nullopt;
}

void NodeEditor::Replace(const std::string& name, Tensor tensor) {
  if (format::TensorType* type = Type(&name)) {
    type->elem_type = tensor.elem_type;
    type->quantization = tensor.quantization;
    if (type->shape) type->shape = format::ToShape(tensor.dims);
  }
  for (format::TensorData& data : graph_.initializers) {
    if (data.name == name) data = format::ToTensorData(name, tensor);
  }
  std::size_t next = 0;
  for (const format::ValueInfo& info : graph_.inputs) {
    if (graph_.FindInitializer(info.name) != nullptr) continue;
    if (next >= question_.inputs.size()) return;
    if (info.name == name) question_.inputs[next] = tensor;
    ++next;
  }
}

void NodeEditor::AddConstant(const std::string& name, const Tensor& tensor) {
  graph_.initializers.push_back(format::ToTensorData(name, tensor));
  if (!tensor.quantization) return;
  format::TensorType type;
  type.elem_type = tensor.elem_type;
  type.quantization = tensor.quantization;
  Declare(name, std::move(type));
  graph_.values.back().type->shape = format::ToShape(tensor.dims);
}

void NodeEditor::Declare(const std::string& name, format::TensorType type) {
  format::ValueInfo info;
  info.name = name;
  info.type = std::move(type);
  info.type->shape.reset();
  graph_.values.push_back(std::move(info));
}

bool NodeEditor::EditIntegers(const std::string* name, const Edit& edit) {
  std::optional<Tensor> tensor = Load(name);
  if (!tensor || !format::IsIntegerStorage(tensor->elem_type)) return false;
  std::vector<std::int64_t> values = format::UnpackIntegers(*tensor);
  if (!edit(values, *tensor)) return false;
  auto changed =
      format::MakeTensor(tensor->elem_type, tensor->dims, std::move(tensor->quantization));
  if (!changed) return false;
  format::PackIntegers(values, *changed);
  Replace(*name, *std::move(changed));
  return true;
}

void Widen(Tensor& tensor) {
  tensor.elem_type = format::ElementType::kInt16Q;
  tensor.quantization->quant_min.reset();
  tensor.quantization->quant_max.reset();
  tensor.quantization->scheme = format::Scheme::kUnspecified;
}

}  // namespace qtx::conformance
