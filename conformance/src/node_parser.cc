#include "node_parser.h"

#include <algorithm>
#include <string>
#include <utility>

#include "model_builder.h"
#include "value_parser.h"

namespace qtx::conformance {
namespace {

constexpr std::int64_t kMaxOpset = 1000;

Result<format::Attribute> ParseBody(const std::string& name, const Yaml& node, const Place& place,
                                    std::int64_t opset);

Result<CaseNode> ParseNode(const Yaml& node, const Place& place) {
  QTX_RETURN_IF_ERROR(ExpectMap(node, place, {"op", "inputs", "outputs"}));
  const Yaml* op = node.Find("op");
  const Yaml* inputs = node.Find("inputs");
  const Yaml* outputs = node.Find("outputs");
  if (op == nullptr || inputs == nullptr || outputs == nullptr) {
    return Refuse(place, node, "expected the keys op, inputs and outputs");
  }
  CaseNode parsed;
  QTX_ASSIGN_OR_RETURN(parsed.op, ParseOperator(*op, place.Child("op")));
  QTX_ASSIGN_OR_RETURN(parsed.inputs, ReadList(*inputs, place.Child("inputs"), ReadString));
  QTX_ASSIGN_OR_RETURN(parsed.outputs, ReadList(*outputs, place.Child("outputs"), ReadString));
  return parsed;
}

// The names that `key` lists; none where it is absent.
Result<std::vector<std::string>> ParseNames(const Yaml& node, const Place& place,
                                            std::string_view key) {
  const Yaml* names = node.Find(key);
  if (names == nullptr) return std::vector<std::string>{};
  return ReadList(*names, place.Child(std::string(key)), ReadString);
}

// The initializers of a body: typed values with data.
Result<void> AddConstants(const Yaml& node, const Place& place, format::Graph& graph) {
  const Yaml* constants = node.Find("initializers");
  if (constants == nullptr) return {};
  const Place below = place.Child("initializers");
  QTX_ASSIGN_OR_RETURN(const std::vector<CaseValue> values, ParseValues(*constants, below));
  for (const CaseValue& value : values) {
    if (!value.data)
      return Refuse(below.Child(value.name), *constants, "a constant of a body needs data");
    graph.initializers.push_back(format::ToTensorData(value.name, *value.data));
    if (value.type.quantization) graph.values.push_back(Declare(value));
  }
  return {};
}

// A body: `{inputs, outputs, nodes, values, initializers}`. `values` declares what it will of the
// inputs, the outputs and what lies between.
Result<format::Attribute> ParseBody(const std::string& name, const Yaml& node, const Place& place,
                                    std::int64_t opset) {
  QTX_RETURN_IF_ERROR(
      ExpectMap(node, place, {"inputs", "outputs", "nodes", "values", "initializers"}));
  format::Attribute attribute;
  attribute.name = name;
  attribute.type = format::AttributeType::kGraph;
  format::Graph& graph = attribute.graphs.emplace_back();
  graph.name = name;
  const Yaml& nodes = *node.Find("nodes");
  QTX_ASSIGN_OR_RETURN(const std::vector<CaseNode> parts,
                       ParseNodeList(nodes, place.Child("nodes")));
  for (const CaseNode& part : parts) {
    if (part.op.opset != opset)
      return Refuse(place.Child("nodes"), nodes, "expected the opset of the node around the body");
    graph.nodes.push_back(NodeOf(part, name + std::to_string(graph.nodes.size())));
  }
  QTX_RETURN_IF_ERROR(AddConstants(node, place, graph));
  QTX_ASSIGN_OR_RETURN(const std::vector<std::string> inputs, ParseNames(node, place, "inputs"));
  QTX_ASSIGN_OR_RETURN(const std::vector<std::string> outputs, ParseNames(node, place, "outputs"));
  for (const std::string& input : inputs) graph.inputs.emplace_back().name = input;
  for (const std::string& output : outputs) graph.outputs.emplace_back().name = output;
  const Yaml* types = node.Find("values");
  if (types == nullptr) return attribute;
  QTX_ASSIGN_OR_RETURN(const std::vector<CaseValue> values,
                       ParseTypes(*types, place.Child("values")));
  for (const CaseValue& value : values) {
    bool at_end = false;
    for (auto* ends : {&graph.inputs, &graph.outputs}) {
      const auto found = std::ranges::find(*ends, value.name, &format::ValueInfo::name);
      if (found == ends->end()) continue;
      *found = Declare(value);
      at_end = true;
    }
    if (!at_end) graph.values.push_back(Declare(value));
  }
  return attribute;
}

// The keys `origin` and `origin_attributes` of an operator.
Result<std::optional<format::Origin>> ParseOrigin(const Yaml& op, const Place& place) {
  const Yaml* name = op.Find("origin");
  const Yaml* attributes = op.Find("origin_attributes");
  const Place below = place.Child("origin_attributes");
  if (name == nullptr && attributes == nullptr) return std::optional<format::Origin>();
  if (name == nullptr) return Refuse(below, *attributes, "expected the key 'origin', too");
  QTX_ASSIGN_OR_RETURN(const std::string text, ReadString(*name, place.Child("origin")));
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) {
    return Refuse(place.Child("origin"), *name, "expected FRAMEWORK/OP_TYPE");
  }
  format::Origin origin;
  origin.framework = text.substr(0, slash);
  origin.op_type = text.substr(slash + 1);
  if (attributes == nullptr) return std::optional(std::move(origin));
  if (!attributes->is_map()) return Refuse(below, *attributes, "expected a map");
  for (std::size_t i = 0; i < attributes->keys.size(); ++i) {
    const std::string& key = attributes->keys[i];
    QTX_ASSIGN_OR_RETURN(origin.attributes.emplace_back(),
                         ParseAttribute(key, attributes->items[i], below.Child(key)));
  }
  return std::optional(std::move(origin));
}

}  // namespace

Result<Operator> ParseOperator(const Yaml& node, const Place& place) {
  QTX_RETURN_IF_ERROR(ExpectMap(
      node, place, {"type", "domain", "opset", "origin", "origin_attributes", "attributes"}));
  const Yaml* type = node.Find("type");
  if (type == nullptr) return Refuse(place, node, "missing key 'type'");
  Operator op;
  QTX_ASSIGN_OR_RETURN(op.type, ReadString(*type, place.Child("type")));
  if (const Yaml* domain = node.Find("domain")) {
    QTX_ASSIGN_OR_RETURN(op.domain, ReadString(*domain, place.Child("domain")));
  }
  if (const Yaml* opset = node.Find("opset")) {
    QTX_ASSIGN_OR_RETURN(op.opset, ReadInt(*opset, place.Child("opset")));
    if (op.opset < 1 || op.opset > kMaxOpset) {
      return Refuse(place.Child("opset"), *opset, "expected 1 to " + std::to_string(kMaxOpset));
    }
  }
  QTX_ASSIGN_OR_RETURN(op.origin, ParseOrigin(node, place));
  const Yaml* attributes = node.Find("attributes");
  if (attributes == nullptr) return op;
  const Place below = place.Child("attributes");
  if (!attributes->is_map()) return Refuse(below, *attributes, "expected a map");
  for (std::size_t i = 0; i < attributes->keys.size(); ++i) {
    const std::string& name = attributes->keys[i];
    const Yaml& value = attributes->items[i];
    const Place at = below.Child(name);
    const bool is_body = value.is_map() && value.Find("nodes") != nullptr;
    QTX_ASSIGN_OR_RETURN(op.attributes.emplace_back(), is_body
                                                           ? ParseBody(name, value, at, op.opset)
                                                           : ParseAttribute(name, value, at));
  }
  return op;
}

Result<std::vector<CaseNode>> ParseNodeList(const Yaml& node, const Place& place) {
  if (!node.is_list() || node.items.empty()) {
    return Refuse(place, node, "expected a list of at least one node");
  }
  QTX_ASSIGN_OR_RETURN(std::vector<CaseNode> nodes, ReadList(node, place, ParseNode));
  for (const CaseNode& parsed : nodes) {
    if (parsed.op.opset == nodes.front().op.opset) continue;
    return Refuse(place, node, "expected one opset for all nodes");
  }
  return nodes;
}

Result<std::vector<CaseValue>> ParseValues(const Yaml& node, const Place& place) {
  if (!node.is_map()) return Refuse(place, node, "expected a map of typed values");
  std::vector<CaseValue> values;
  for (std::size_t i = 0; i < node.keys.size(); ++i) {
    QTX_ASSIGN_OR_RETURN(values.emplace_back(),
                         ParseValue(node.keys[i], node.items[i], place.Child(node.keys[i])));
  }
  return values;
}

Result<std::vector<CaseValue>> ParseTypes(const Yaml& node, const Place& place) {
  QTX_ASSIGN_OR_RETURN(std::vector<CaseValue> values, ParseValues(node, place));
  for (const CaseValue& value : values) {
    if (!value.absent && !value.data && !value.generator && value.file.empty()) continue;
    return Refuse(place.Child(value.name), node, "expected a type without data");
  }
  return values;
}

}  // namespace qtx::conformance
