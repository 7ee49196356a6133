#include "opset/step.h"

#include <algorithm>
#include <cstring>

#include "qtx/format/annotation.h"

namespace qtx::convert {

using format::ElementType;
using format::Tensor;

OpsetScope::OpsetScope(const format::FlatModel& flat)
    : inference_(flat), names_(flat.model().graph) {
  const format::Graph& graph = flat.model().graph;
  for (const format::ValueInfo& input : graph.inputs) inputs_.insert(input.name);
  for (const auto* list : {&graph.inputs, &graph.outputs, &graph.values}) {
    for (const format::ValueInfo& value : *list) {
      const auto real = value.type ? format::RealTypeOf(*value.type) : ElementType::kUndefined;
      if (format::IsHalf(real)) halves_.emplace(value.name, real);
    }
  }
}

ElementType OpsetScope::TypeOf(const std::string& value) const {
  if (const auto added = added_.find(value); added != added_.end()) return added->second.elem_type;
  const format::ValueFacts* facts = inference_ ? inference_->Find(value) : nullptr;
  if (facts == nullptr) return ElementType::kUndefined;
  if (!format::IsQuantized(facts->type)) return facts->type;
  const auto half = halves_.find(value);
  return half == halves_.end() ? ElementType::kFloat : half->second;
}

std::optional<format::Dims> OpsetScope::DimsOf(const std::string& value) const {
  if (const auto added = added_.find(value); added != added_.end()) return added->second.dims;
  const format::ValueFacts* facts = inference_ ? inference_->Find(value) : nullptr;
  return facts == nullptr ? std::nullopt : facts->dims;
}

const Tensor* OpsetScope::ConstantOf(const std::string& value) const {
  if (const auto added = added_.find(value); added != added_.end()) return &added->second;
  if (inputs_.contains(value) || !inference_) return nullptr;
  const format::ValueFacts* facts = inference_->Find(value);
  return facts == nullptr ? nullptr : facts->constant;
}

std::string OpsetScope::AddConstant(const std::string& name, Tensor tensor) {
  std::string unique = Unique(name);
  order_.push_back(unique);
  added_.emplace(unique, std::move(tensor));
  return unique;
}

void OpsetScope::Finish(format::Graph& graph) const {
  std::set<std::string_view> read;
  for (const format::Node& node : graph.nodes) read.insert(node.inputs.begin(), node.inputs.end());
  for (const format::ValueInfo& output : graph.outputs) read.insert(output.name);
  const auto unread = [&](const std::string& name) {
    return unread_.contains(name) && !read.contains(name);
  };
  std::erase_if(graph.initializers, [&](const auto& data) { return unread(data.name); });
  std::erase_if(graph.values, [&](const auto& value) { return unread(value.name); });
  std::erase_if(graph.nodes, [&](const format::Node& node) {
    return format::IsStock(node, "Constant") && node.outputs.size() == 1 && unread(node.outputs[0]);
  });
  for (const std::string& name : order_) {
    if (unread(name)) continue;
    graph.initializers.push_back(format::ToTensorData(name, added_.at(name)));
  }
}

std::optional<std::int64_t> OpsetStep::RankOf(std::size_t input) const {
  const auto dims = DimsOf(input);
  return dims ? std::optional(static_cast<std::int64_t>(dims->size())) : std::nullopt;
}

Result<const Tensor*> OpsetStep::Constant(std::size_t input) const {
  if (const Tensor* tensor = ConstantOf(input)) return tensor;
  return Unsupported(PlaceOf(input),
                     "is computed; opset " + std::to_string(old()) + " takes a constant there");
}

Result<std::vector<std::int64_t>> OpsetStep::Integers(std::size_t input) const {
  QTX_ASSIGN_OR_RETURN(const Tensor* tensor, Constant(input));
  if (!format::IsIntegerStorage(tensor->elem_type)) {
    return Invalid(PlaceOf(input), "found type " + std::string(format::Name(tensor->elem_type)) +
                                       ", expected integers");
  }
  return format::UnpackIntegers(*tensor);
}

void OpsetStep::SetInput(std::size_t input, std::string name) {
  if (node.inputs.size() <= input) node.inputs.resize(input + 1);
  node.inputs[input] = std::move(name);
}

void OpsetStep::DropInput(std::size_t input) {
  if (input >= node.inputs.size()) return;
  if (ConstantOf(input) != nullptr) scope_.Unread(node.inputs[input]);
  node.inputs[input].clear();
  while (!node.inputs.empty() && node.inputs.back().empty()) node.inputs.pop_back();
}

format::Node OpsetStep::NewNode(const char* op_type, std::vector<std::string> inputs,
                                std::string output,
                                std::vector<format::Attribute> attributes) const {
  format::Node added;
  added.name = output;
  added.op_type = op_type;
  added.inputs = std::move(inputs);
  added.outputs = {std::move(output)};
  added.attributes = std::move(attributes);
  return added;
}

void OpsetStep::Erase(std::string_view attribute) {
  std::erase_if(node.attributes, [&](const auto& other) { return other.name == attribute; });
}

void OpsetStep::Set(format::Attribute attribute) {
  const auto found = std::ranges::find(node.attributes, attribute.name, &format::Attribute::name);
  if (found == node.attributes.end()) {
    node.attributes.push_back(std::move(attribute));
  } else {
    *found = std::move(attribute);
  }
}

Tensor IntegerTensor(const std::vector<std::int64_t>& values, bool scalar) {
  Tensor tensor{.elem_type = ElementType::kInt64,
                .dims = scalar ? format::Dims() : format::Dims{std::ssize(values)},
                .quantization = std::nullopt,
                .bytes = std::vector<std::byte>(values.size() * sizeof(std::int64_t))};
  std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  return tensor;
}

Result<Tensor> RealTensor(const std::vector<float>& values, ElementType type, bool scalar) {
  QTX_ASSIGN_OR_RETURN(
      Tensor tensor,
      format::MakeTensor(type, scalar ? format::Dims() : format::Dims{std::ssize(values)}));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto real = static_cast<double>(values[i]);
    if (type == ElementType::kFloat) {
      tensor.As<float>()[i] = values[i];
    } else if (type == ElementType::kDouble) {
      tensor.As<double>()[i] = real;
    } else if (type == ElementType::kFloat16 || type == ElementType::kBfloat16) {
      tensor.As<std::uint16_t>()[i] =
          static_cast<std::uint16_t>(format::EncodeSmallFloat(type, real));
    } else {
      return Unsupported("found type " + std::string(format::Name(type)) +
                         ", expected FLOAT, FLOAT16, BFLOAT16 or DOUBLE");
    }
  }
  return tensor;
}

}  // namespace qtx::convert
