#include <algorithm>
#include <utility>

#include "qtx/format/functions.h"
#include "qtx/format/rename.h"
#include "qtx/overlay.pb.h"
#include "wire.h"

namespace qtx::format {
namespace {

Result<Function> ReadFunction(const std::string& bytes) {
  overlay::FunctionProto in;
  if (!in.ParseFromString(bytes))
    return Error{ErrorCode::kInvalid, "function", "expected a serialised FunctionProto"};
  Function function{.domain = in.domain(),
                    .name = in.name(),
                    .overload = in.overload(),
                    .inputs = {in.input().begin(), in.input().end()},
                    .outputs = {in.output().begin(), in.output().end()},
                    .bytes = bytes.size()};
  const std::string place = "function '" + in.name() + "'";
  for (const auto& import : in.opset_import())
    function.opset_imports.push_back({import.domain(), import.version(), {}});
  for (const std::string& node : in.node()) {
    auto read = wire::ParseNode(node);
    if (!read.has_value()) return At(place, read.error());
    function.nodes.push_back(*std::move(read));
  }
  for (const std::string& attribute : in.attribute_proto()) {
    auto read = wire::ParseAttribute(attribute);
    if (!read.has_value()) return At(place, read.error());
    function.defaults.push_back(*std::move(read));
  }
  return function;
}

// The attribute of the function that gives the value of a node's attribute; "" for none.
std::string ReferenceOf(const Attribute& attribute) {
  overlay::AttributeWithReference message;
  const bool parsed = message.ParseFromString(attribute.unknown_fields);
  return parsed ? message.ref_attr_name() : std::string();
}

class Expansion {
 public:
  Expansion(const Function& function, const Node& call,
            const std::function<std::string(const std::string&)>& named)
      : function_(function), call_(call), named_(named) {}

  void Rewrite(Node& node) const {
    Rename(node.name);
    for (auto* names : {&node.inputs, &node.outputs}) {
      for (std::string& name : *names) Rename(name);
    }
    std::vector<Attribute> attributes;
    for (Attribute& attribute : node.attributes) {
      const std::string reference = ReferenceOf(attribute);
      if (reference.empty()) {
        for (Graph& body : attribute.graphs) Rewrite(body);
        attributes.push_back(std::move(attribute));
      } else if (const Attribute* value = Given(reference)) {
        attributes.push_back(*value);
        attributes.back().name = attribute.name;
      }
    }
    node.attributes = std::move(attributes);
  }

 private:
  void Rename(std::string& name) const {
    if (!name.empty()) name = named_(name);
  }

  void Rewrite(Graph& body) const {
    for (Node& node : body.nodes) Rewrite(node);
    for (auto* list : {&body.inputs, &body.outputs, &body.values}) {
      for (ValueInfo& value : *list) Rename(value.name);
    }
    for (TensorData& data : body.initializers) {
      auto renamed = Renamed(data, named_(data.name));
      if (renamed.has_value()) data = *std::move(renamed);
    }
  }

  // The call's attribute, or the function's default.
  const Attribute* Given(const std::string& name) const {
    if (const Attribute* given = call_.Find(name)) return given;
    const auto found = std::ranges::find(function_.defaults, name, &Attribute::name);
    return found == function_.defaults.end() ? nullptr : &*found;
  }

  const Function& function_;
  const Node& call_;
  const std::function<std::string(const std::string&)>& named_;
};

}  // namespace

Result<std::vector<Function>> FunctionsOf(const Model& model) {
  std::vector<Function> functions;
  overlay::ModelWithFunctions message;
  if (model.unknown_fields.empty() || !message.ParseFromString(model.unknown_fields))
    return functions;
  for (const std::string& bytes : message.functions()) {
    QTX_ASSIGN_OR_RETURN(Function function, ReadFunction(bytes));
    functions.push_back(std::move(function));
  }
  return functions;
}

bool Calls(const Node& node, const Function& function) {
  if (function.name != node.op_type || function.domain != node.domain) return false;
  overlay::NodeWithOverload message;
  const bool parsed = message.ParseFromString(node.unknown_fields);
  return function.overload == (parsed ? message.overload() : std::string());
}

std::vector<Node> NodesOf(const Function& function, const Node& call,
                          const std::function<std::string(const std::string&)>& named) {
  std::vector<Node> nodes = function.nodes;
  const Expansion expansion(function, call, named);
  for (Node& node : nodes) expansion.Rewrite(node);
  return nodes;
}

void RemoveFunctions(const std::function<bool(const Function&)>& is_unused, Model& model) {
  overlay::ModelWithFunctions message;
  if (!message.ParseFromString(model.unknown_fields)) return;
  overlay::ModelWithFunctions kept;
  *kept.mutable_unknown_fields() = message.unknown_fields();
  for (const std::string& bytes : message.functions()) {
    const auto function = ReadFunction(bytes);
    if (!function.has_value() || !is_unused(*function)) kept.add_functions(bytes);
  }
  if (kept.functions_size() != message.functions_size())
    model.unknown_fields = kept.SerializeAsString();
}

}  // namespace qtx::format
