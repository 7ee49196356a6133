#include "onnx_application.h"

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rules.h"

namespace qtx::format {
namespace catalogue {
namespace {

Error RefuseOnnx(std::string_view clause, std::string where, std::string message) {
  return Error{ErrorCode::kInvalid, std::move(where), std::move(message), std::string(clause)};
}

// All inputs or all outputs of a node.
struct OnnxSide {
  const char* what;
  std::span<const OnnxParameter> parameters;
  std::size_t least, most;
  const std::vector<std::string>& names;
  std::span<const ElementType> types;

  // REQUIRES: CheckOnnxCount.
  const OnnxParameter& Parameter(std::size_t i) const {
    return parameters[std::min(i, parameters.size() - 1)];
  }
  // "input[1] 'w'"
  std::string Place(std::size_t i) const {
    const std::string_view name = names[i].empty() ? Parameter(i).name : names[i];
    return std::string(what) + "[" + std::to_string(i) + "] '" + std::string(name) + "'";
  }
};

// graph.C5.
Result<void> CheckOnnxCount(const OnnxSide& side) {
  const std::size_t count = side.names.size();
  if (count < side.least || (count > side.most && side.most != kOnnxNoLimit)) {
    std::string expected = std::to_string(side.least);
    if (side.most == kOnnxNoLimit) {
      expected += " or more";
    } else if (side.most != side.least) {
      expected += " to " + std::to_string(side.most);
    }
    return RefuseOnnx("graph.C5", side.what,
                      "found " + std::to_string(count) + ", expected " + expected);
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (!side.names[i].empty() || side.Parameter(i).presence != OnnxPresence::kRequired) continue;
    return RefuseOnnx("graph.C5", side.Place(i), "found none, expected one: it is required");
  }
  return {};
}

// graph.C7: a type is one of its constraint, and the same wherever that constrains.
Result<void> CheckOnnxTypes(const OnnxOperator& op, std::initializer_list<OnnxSide> sides) {
  const auto sets = op.Types();
  std::vector<std::pair<ElementType, std::string>> first(sets.size());  // and its place
  for (const OnnxSide& side : sides) {
    for (std::size_t i = 0; i < std::min(side.names.size(), side.types.size()); ++i) {
      const OnnxParameter& parameter = side.Parameter(i);
      const TypeSet set = sets[parameter.types];
      const ElementType type = side.types[i];
      if (side.names[i].empty() || type == ElementType::kUndefined) continue;
      const std::string found = "found type " + std::string(Name(type)) + ", expected ";
      const bool any = set == TypeSet();  // values that are no tensors, too
      if (any ? IsQuantized(type) : !set.Has(type)) {
        return RefuseOnnx("graph.C7", side.Place(i),
                          found + (any ? "one of ONNX's types" : TypeNames(set)));
      }
      if (!parameter.homogeneous) continue;
      auto& [expected, place] = first[parameter.types];
      if (expected == ElementType::kUndefined) {
        expected = type;
        place = side.Place(i);
      } else if (type != expected) {
        return RefuseOnnx("graph.C7", side.Place(i),
                          found + std::string(Name(expected)) + ", as " + place);
      }
    }
  }
  return {};
}

}  // namespace

const OnnxOperator* FindOnnxOperator(std::string_view op_type, std::int64_t opset) {
  const auto all = OnnxOperators();
  const auto past = std::ranges::upper_bound(
      all, std::pair(op_type, opset), {},
      [](const OnnxOperator& op) { return std::pair(op.op_type, std::int64_t{op.since}); });
  return past == all.begin() || past[-1].op_type != op_type ? nullptr : &past[-1];
}

Result<void> CheckOnnxAttributes(const OnnxOperator& op, const Node& node, std::int64_t opset) {
  const auto place = [](std::string_view name) { return "attribute '" + std::string(name) + "'"; };
  const auto rules = op.Attributes();
  for (const Attribute& attribute : node.attributes) {
    if (attribute.name.starts_with("__")) continue;
    const auto rule = std::ranges::find(rules, attribute.name, &OnnxAttribute::name);
    if (rule == rules.end()) {
      return RefuseOnnx("graph.C6", place(attribute.name),
                        "operator " + std::string(op.op_type) + " has none of this name in opset " +
                            std::to_string(opset));
    }
    if (node.Find(attribute.name) != &attribute) {
      return RefuseOnnx("graph.C6", place(attribute.name), "found two, expected one");
    }
    if (attribute.type == rule->type) continue;
    return RefuseOnnx("graph.C6", place(attribute.name),
                      "found type " + AttributeTypeName(attribute.type) + ", expected " +
                          AttributeTypeName(rule->type));
  }
  for (const OnnxAttribute& rule : rules) {
    if (!rule.required || node.Find(rule.name) != nullptr) continue;
    return RefuseOnnx("graph.C6", place(rule.name), "found none, expected one: it is required");
  }
  return {};
}

Result<void> CheckOnnxApplication(const OnnxOperator& op, const Node& node, std::int64_t opset,
                                  std::span<const ElementType> input_types,
                                  std::span<const ElementType> output_types) {
  if (op.deprecated) {
    return RefuseOnnx("graph.C4", "",
                      "found operator " + std::string(op.op_type) + " in opset " +
                          std::to_string(opset) + ", expected another: it is deprecated since " +
                          std::to_string(op.since));
  }
  const OnnxSide inputs{"input",        op.Inputs(), op.least_inputs,
                        op.most_inputs, node.inputs, input_types};
  const OnnxSide outputs{"output",        op.Outputs(), op.least_outputs,
                         op.most_outputs, node.outputs, output_types};
  QTX_RETURN_IF_ERROR(CheckOnnxCount(inputs));
  QTX_RETURN_IF_ERROR(CheckOnnxCount(outputs));
  QTX_RETURN_IF_ERROR(CheckOnnxAttributes(op, node, opset));
  return CheckOnnxTypes(op, {inputs, outputs});
}

}  // namespace catalogue

Result<void> CheckOnnxForm(const Node& node, std::int64_t opset,
                           std::span<const ElementType> inputs,
                           std::span<const ElementType> outputs) {
  const catalogue::OnnxOperator* op = catalogue::FindOnnxOperator(node.op_type, opset);
  if (op != nullptr) return catalogue::CheckOnnxApplication(*op, node, opset, inputs, outputs);
  return Error{ErrorCode::kInvalid, "",
               "ONNX has no operator " + node.op_type + " in opset " + std::to_string(opset),
               "graph.C4"};
}

}  // namespace qtx::format
