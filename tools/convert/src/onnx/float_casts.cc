#include "onnx/float_casts.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "onnx/graph_index.h"
#include "qtx/format/annotation.h"
#include "qtx/format/catalogue.h"
#include "qtx/format/inference.h"
#include "qtx/graph/graph_builder.h"

namespace qtx::convert {
namespace {

using format::ElementType;
using format::Node;

class FloatCasts {
 public:
  explicit FloatCasts(const format::Model& model)
      : opset_(model.OpsetVersion("")), inference_(model), names_(model.graph) {
    const format::Graph& graph = model.graph;
    for (const auto* list : {&graph.inputs, &graph.outputs, &graph.values}) {
      for (const format::ValueInfo& info : *list) {
        if (info.type && format::IsQuantized(info.type->elem_type))
          types_.emplace(info.name, *info.type);
      }
    }
  }

  void Add(Node node, std::vector<Node>& nodes) {
    const Node source = node;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const auto type = types_.find(source.inputs[i]);
      if (type == types_.end() || !TakesNone(source, i, type->second)) continue;
      node.inputs[i] = FloatOf(source.inputs[i], nodes);
    }
    std::vector<Node> after;
    for (std::string& output : node.outputs) {
      const auto type = types_.find(output);
      if (type == types_.end() || !HasNoQuantizedOperands(source)) continue;
      const std::string real = names_.Unique(output + "/real");
      after.push_back(CastNode(output, real, output, type->second.elem_type));
      output = real;
    }
    nodes.push_back(std::move(node));
    std::ranges::move(after, std::back_inserter(nodes));
  }

 private:
  // What the operator's row says against a type of input `i`, whatever the others are; "" for
  // nothing.
  std::string Refusal(const Node& node, std::size_t i, ElementType type) const {
    const format::OpSchema* schema = format::FindSchema(node.domain, node.op_type);
    if (schema == nullptr) return "";
    format::Application application{*schema, node, opset_, {}, {}};
    for (const std::string& input : node.inputs) {
      const format::ValueFacts* facts = inference_.Find(input);
      format::ValueFacts& known = application.inputs.emplace_back();
      known.given = !input.empty();
      if (facts != nullptr) known.dims = facts->dims;
    }
    application.inputs[i].type = type;
    application.outputs.resize(node.outputs.size());
    const auto checked = format::CheckApplication(application);
    const bool is_of_input = !checked.has_value() &&
                             checked.error().where.starts_with("input[" + std::to_string(i) + "]");
    return is_of_input ? checked.error().message : "";
  }

  bool TakesNone(const Node& node, std::size_t i, const format::TensorType& quantized) const {
    if (HasNoQuantizedOperands(node)) return true;
    const std::string refusal = Refusal(node, i, quantized.elem_type);
    return !refusal.empty() && refusal != Refusal(node, i, format::RealTypeOf(quantized));
  }

  static Node CastNode(const std::string& name, const std::string& from, const std::string& to,
                       ElementType type) {
    Node cast;
    cast.name = name + "/Cast";
    cast.op_type = "Cast";
    cast.inputs = {from};
    cast.outputs = {to};
    cast.attributes = {format::Attribute::Int("to", static_cast<std::int64_t>(type))};
    return cast;
  }

  const std::string& FloatOf(const std::string& value, std::vector<Node>& nodes) {
    std::string& name = floats_[value];
    if (!name.empty()) return name;
    name = names_.Unique(value + "/float");
    nodes.push_back(CastNode(name, value, name, format::RealTypeOf(types_.at(value))));
    return name;
  }

  const std::int64_t opset_;
  const format::Inference inference_;                // of the sizes
  std::map<std::string, format::TensorType> types_;  // of quantized values
  graph::Names names_;
  std::map<std::string, std::string> floats_;
};

bool HasQuantizedValue(const format::Graph& graph) {
  const auto is_quantized = [](const format::ValueInfo& info) {
    return info.type && format::IsQuantized(info.type->elem_type);
  };
  return std::ranges::any_of(graph.inputs, is_quantized) ||
         std::ranges::any_of(graph.outputs, is_quantized) ||
         std::ranges::any_of(graph.values, is_quantized);
}

}  // namespace

bool HasNoQuantizedOperands(const Node& node) {
  if (IsQuantizeLinear(node) || IsStock(node, "DynamicQuantizeLinear")) return true;
  if (node.domain == "com.microsoft") return true;
  return IsStock(node, node.op_type) && format::FindSchema(node.domain, node.op_type) == nullptr;
}

void AddFloatCasts(format::Model& model) {
  if (!HasQuantizedValue(model.graph)) return;
  FloatCasts casts(model);
  std::vector<Node> nodes;
  nodes.reserve(model.graph.nodes.size());
  for (Node& node : model.graph.nodes) casts.Add(std::move(node), nodes);
  model.graph.nodes = std::move(nodes);
}

}  // namespace qtx::convert
