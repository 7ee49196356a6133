#include "tflite/expander.h"

#include "tflite/tensor_out.h"

namespace qtx::convert {

using format::Attribute;
using format::Dims;
using format::ElementType;
using format::Tensor;

std::optional<Dims> Expander::DimsOf(const std::string& value) const {
  const format::ValueFacts* facts = inference_.Find(value);
  if (facts == nullptr || !facts->dims) return std::nullopt;
  const bool open = std::ranges::any_of(*facts->dims, [](std::int64_t size) { return size < 0; });
  return open ? std::nullopt : facts->dims;
}

const format::TensorType* Expander::TypeOf(const std::string& value) const {
  const format::ValueInfo* info = view_.FindValue(value);
  return info != nullptr && info->type ? &*info->type : nullptr;
}

bool Expander::IsReal(const std::string& value) const {
  const format::TensorType* type = TypeOf(value);
  if (type != nullptr && type->quantization)
    return format::RealTypeOf(*type->quantization) == ElementType::kFloat;
  return ElementTypeOf(value) == ElementType::kFloat;
}

std::optional<std::vector<double>> Expander::Constant(const std::string& value) const {
  if (view_.FindInitializer(value) == nullptr || !IsReal(value)) return std::nullopt;
  auto tensor = format::LoadInitializer(view_, value);
  if (tensor.has_value() && tensor->quantization) tensor = FloatOf(*tensor);
  return tensor.has_value() ? std::optional(format::StoredValues(*tensor)) : std::nullopt;
}

std::optional<std::vector<std::int64_t>> Expander::ConstantIntegers(
    const std::string& value) const {
  if (view_.FindInitializer(value) == nullptr) return std::nullopt;
  const auto tensor = format::LoadInitializer(view_, value);
  if (!tensor.has_value() || tensor->quantization || !format::IsIntegerStorage(tensor->elem_type))
    return std::nullopt;
  return format::UnpackIntegers(*tensor);
}

ElementType Expander::ElementTypeOf(const std::string& value) const {
  const format::ValueFacts* facts = inference_.Find(value);
  return facts == nullptr ? ElementType::kUndefined : facts->type;
}

std::string Expander::Real(const std::string& value) {
  const format::TensorType* type = TypeOf(value);
  return type != nullptr && type->quantization ? Op("Identity", {value}) : value;
}

std::string Expander::Floats(const std::vector<double>& values, Dims dims) {
  Tensor tensor{ElementType::kFloat, std::move(dims), {}, {}};
  tensor.bytes.resize(values.size() * sizeof(float));
  std::ranges::transform(values, tensor.As<float>().begin(),
                         [](double value) { return static_cast<float>(value); });
  return builder_.AddConstant(node_->outputs[0] + "/constant", tensor);
}

std::string Expander::Op(std::string op_type, Values inputs, std::vector<Attribute> attributes) {
  std::string result = builder_.Unique(node_->outputs[0] + "/" + op_type);
  builder_.Add(node_->name, {std::move(op_type), std::move(inputs), std::move(attributes)},
               {result});
  return result;
}

void Expander::Last(std::string op_type, Values inputs, std::vector<Attribute> attributes,
                    std::size_t output) {
  if (node_->outputs[output].empty()) return;
  builder_.Add(node_->name, {std::move(op_type), std::move(inputs), std::move(attributes)},
               {node_->outputs[output]});
}

std::string Expander::Reshaped(const std::string& value, const Dims& dims,
                               const std::string& like) {
  format::TensorType reshaped;
  reshaped.elem_type = ElementTypeOf(like);
  if (const format::TensorType* type = TypeOf(like)) reshaped = *type;
  reshaped.shape = format::ToShape(dims);
  reshaped.statistics.reset();
  std::string result = builder_.Inner(node_->outputs[0] + "/reshaped", std::move(reshaped));
  builder_.Add(node_->name, {"Reshape", {value, Integers(dims)}, {}}, {result});
  return result;
}

}  // namespace qtx::convert
