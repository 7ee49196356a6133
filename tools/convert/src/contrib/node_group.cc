#include "contrib/node_group.h"

#include <utility>

#include "qtx/format/print.h"

namespace qtx::convert {

using format::Attribute;
using format::Node;

std::string NodeGroup::Named(std::string_view role) {
  const int count = ++counts_[std::string(role)];
  std::string name = name_ + "/" + std::string(role);
  if (count > 1) name += "_" + std::to_string(count);
  return name;
}

void NodeGroup::AddTo(std::vector<std::string> outputs, std::string_view op_type,
                      std::vector<std::string> inputs, std::vector<Attribute> attributes) {
  while (!inputs.empty() && inputs.back().empty()) inputs.pop_back();
  while (!outputs.empty() && outputs.back().empty()) outputs.pop_back();
  Node node;
  node.name = name_ + "/" + std::string(op_type) + "_" + std::to_string(nodes_.size());
  node.op_type = op_type;
  node.inputs = std::move(inputs);
  node.outputs = std::move(outputs);
  node.attributes = std::move(attributes);
  nodes_.push_back(std::move(node));
}

std::string NodeGroup::Add(std::string_view op_type, std::vector<std::string> inputs,
                           std::vector<Attribute> attributes) {
  std::string output = Named(op_type);
  AddTo({output}, op_type, std::move(inputs), std::move(attributes));
  return output;
}

std::string NodeGroup::Constant(const std::string& text, Attribute value) {
  std::string& name = constants_[text];
  if (name.empty()) name = Add("Constant", {}, {std::move(value)});
  return name;
}

std::string NodeGroup::Ints(std::vector<std::int64_t> values) {
  std::string text = "ints";
  for (const std::int64_t value : values) text += " " + std::to_string(value);
  return Constant(text, Attribute::Ints("value_ints", std::move(values)));
}

std::string NodeGroup::Int(std::int64_t value) {
  return Constant("int " + std::to_string(value), Attribute::Int("value_int", value));
}

std::string NodeGroup::Float(float value) {
  return Constant("float " + format::HexFloat(value), Attribute::Float("value_float", value));
}

std::string NodeGroup::Double(double value) {
  format::Tensor tensor;
  tensor.elem_type = format::ElementType::kDouble;
  tensor.bytes.resize(sizeof value);
  tensor.As<double>()[0] = value;
  Attribute attribute;
  attribute.name = "value";
  attribute.type = format::AttributeType::kTensor;
  attribute.t = format::ToTensorData("", tensor);
  return Constant("double " + format::HexFloat(value), std::move(attribute));
}

std::string NodeGroup::Output(std::size_t i) const {
  return i < former_.outputs.size() ? former_.outputs[i] : "";
}

std::string NodeGroup::OutputOr(std::size_t i, std::string_view role) {
  return Has(i) ? Output(i) : Named(role);
}

std::optional<std::int64_t> ContribContext::Rank(const std::string& value) const {
  const format::ValueFacts* facts = inference.Find(value);
  if (facts == nullptr || !facts->dims) return std::nullopt;
  return std::ssize(*facts->dims);
}

std::optional<std::int64_t> ContribContext::Size(const std::string& value,
                                                 std::int64_t axis) const {
  const auto rank = Rank(value);
  if (!rank) return std::nullopt;
  if (axis < 0) axis += *rank;
  if (axis < 0 || axis >= *rank) return std::nullopt;
  const std::int64_t size = (*inference.Find(value)->dims)[static_cast<std::size_t>(axis)];
  return size < 0 ? std::nullopt : std::optional(size);
}

}  // namespace qtx::convert
