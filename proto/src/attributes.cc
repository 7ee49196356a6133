#include "qtx/format/attributes.h"

#include "catalogue/rules.h"
#include "qtx/format/catalogue.h"
#include "qtx/format/onnx_operators.h"

namespace qtx::format {

Attributes::Attributes(const Node& node, std::int64_t opset)
    : node_(node), opset_(opset), row_(catalogue::FindRow(node.domain, node.op_type)) {}

template <typename T>
T Attributes::DefaultOf(std::string_view name) const {
  const AttributeRule* rule = row_ == nullptr ? nullptr : row_->FindAttribute(name, opset_);
  const T* value = rule == nullptr ? nullptr : std::get_if<T>(&rule->otherwise);
  return value == nullptr ? T() : *value;
}

std::int64_t Attributes::Int(std::string_view name) const {
  return node_.IntOr(name, DefaultOf<std::int64_t>(name));
}

float Attributes::Float(std::string_view name) const {
  return node_.FloatOr(name, DefaultOf<float>(name));
}

std::string Attributes::String(std::string_view name) const {
  return node_.StringOr(name, std::string(DefaultOf<std::string_view>(name)));
}

const OpSchema* Attributes::schema() const { return FindSchema(node_.domain, node_.op_type); }

}  // namespace qtx::format
