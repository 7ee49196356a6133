#include "qtx/format/attributes.h"

#include <algorithm>

#include "qtx/format/catalogue.h"
#include "qtx/format/onnx_operators.h"

namespace qtx::format {
namespace {

template <typename T>
T DefaultIn(const Node& node, std::string_view attribute) {
  const OpSchema* schema = FindSchema(node.domain, node.op_type);
  const AttributeRule* rule =
      schema == nullptr ? nullptr : schema->FindAttribute(attribute, NewestOpset());
  const T* value = rule == nullptr ? nullptr : std::get_if<T>(&rule->otherwise);
  return value == nullptr ? T() : *value;
}

// The first opset whose entry of the operator has what is asked for.
template <typename Has>
std::int64_t FirstOpset(std::string_view op_type, Has has) {
  for (const catalogue::OnnxOperator& op : catalogue::OnnxOperators()) {
    if (op.op_type == op_type && has(op)) return op.since;
  }
  return 0;
}

}  // namespace

std::int64_t IntOf(const Node& node, std::string_view attribute) {
  return node.IntOr(attribute, DefaultIn<std::int64_t>(node, attribute));
}

float FloatOf(const Node& node, std::string_view attribute) {
  return node.FloatOr(attribute, DefaultIn<float>(node, attribute));
}

std::string StringOf(const Node& node, std::string_view attribute) {
  return node.StringOr(attribute, std::string(DefaultIn<std::string_view>(node, attribute)));
}

std::int64_t OpsetOf(std::string_view op_type) {
  return FirstOpset(op_type, [](const catalogue::OnnxOperator&) { return true; });
}

std::int64_t OpsetOfAttribute(std::string_view op_type, std::string_view attribute) {
  return FirstOpset(op_type, [&](const catalogue::OnnxOperator& op) {
    return std::ranges::find(op.Attributes(), attribute, &catalogue::OnnxAttribute::name) !=
           op.Attributes().end();
  });
}

std::int64_t OpsetOfInput(std::string_view op_type, std::size_t input) {
  return FirstOpset(op_type,
                    [&](const catalogue::OnnxOperator& op) { return op.most_inputs > input; });
}

}  // namespace qtx::format
