#include "qoperator/boundless.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "contrib/node_group.h"
#include "qoperator/constants.h"
#include "qoperator/lift.h"
#include "qoperator/operators.h"
#include "qtx/format/print.h"

namespace qtx::convert {
namespace {

using format::Attribute;
using format::ElementType;
using format::Node;
using format::Tensor;

class Opener {
 public:
  Opener(const GraphIndex& index, Ledger& ledger)
      : index_(index), ledger_(ledger), names_(index.model().graph) {}

  Result<std::optional<format::Model>> Run() {
    std::map<std::size_t, Scale> boundless;
    for (std::size_t i = 0; i < index_.model().graph.nodes.size(); ++i) {
      QTX_ASSIGN_OR_RETURN(auto scale, BoundlessOf(index_.node(i)));
      if (scale) boundless.emplace(i, *std::move(scale));
    }
    if (boundless.empty()) return std::optional<format::Model>();
    format::Model model = index_.model();
    model.graph.nodes.clear();
    for (std::size_t i = 0; i < index_.model().graph.nodes.size(); ++i) {
      const Node& node = index_.node(i);
      const auto scale = boundless.find(i);
      std::vector<Node> nodes;
      if (scale != boundless.end()) {
        QTX_ASSIGN_OR_RETURN(nodes, Opened(node));
      }
      if (nodes.empty()) {
        model.graph.nodes.push_back(node);
        continue;
      }
      ledger_.Changed(node.outputs[0], "op_type",
                      node.op_type + " is " + std::to_string(nodes.size()) + " nodes: scale '" +
                          scale->second.name + "' is " + scale->second.text +
                          ", so that every integer is the zero point, and no real is finite");
      std::ranges::move(nodes, std::back_inserter(model.graph.nodes));
    }
    return std::optional(std::move(model));
  }

 private:
  struct Scale {
    std::string name, text;
  };

  // The first scale of the node that is no finite number.
  Result<std::optional<Scale>> BoundlessOf(const Node& node) const {
    std::vector<OperandSlots> slots;
    if (IsQuantizeLinear(node) || IsDequantizeLinear(node)) {
      slots = {{0, 1, 2}};
    } else if (const auto layout = LayoutOf(node)) {
      slots = layout->operands;
      if (layout->result) slots.push_back(*layout->result);
    }
    if (node.outputs.size() != 1) return std::optional<Scale>();
    for (const OperandSlots& slot : slots) {
      const std::string& name = InputOf(node, slot.scale);
      QTX_ASSIGN_OR_RETURN(const auto value, OneReal(name));
      if (value && !std::isfinite(*value))
        return std::optional(Scale{name, format::HexFloat(*value)});
    }
    return std::optional<Scale>();
  }

  // A constant FLOAT of one element.
  Result<std::optional<float>> OneReal(const std::string& name) const {
    const format::TensorData* data = index_.Initializer(name);
    const auto is_one = [](std::int64_t size) { return size == 1; };
    if (name.empty() || (data != nullptr && !std::ranges::all_of(data->dims, is_one)))
      return std::optional<float>();
    QTX_ASSIGN_OR_RETURN(const auto tensor, index_.Constant(name));
    if (!tensor || tensor->elem_type != ElementType::kFloat) return std::optional<float>();
    const auto values = Floats(*tensor);
    return values && values->size() == 1 ? std::optional(values->front()) : std::nullopt;
  }

  // None where it stays as it is.
  Result<std::vector<Node>> Opened(const Node& node) {
    NodeGroup group(node, names_.Unique(node.outputs[0] + "/opened"));
    bool said = false;
    if (IsQuantizeLinear(node)) {
      QTX_ASSIGN_OR_RETURN(said, Quantize(group, node.inputs[0], node, {0, 1, 2}));
    } else if (IsDequantizeLinear(node)) {
      QTX_ASSIGN_OR_RETURN(said, Dequantize(group, node, {0, 1, 2}, node.outputs[0]));
    } else {
      QTX_ASSIGN_OR_RETURN(said, Operate(group, node, *LayoutOf(node)));
    }
    if (!said) group.nodes().clear();
    return std::move(group.nodes());
  }

  // ONNX's operator on reals between nodes that read and write integers.
  Result<bool> Operate(NodeGroup& group, const Node& node, const QOperatorLayout& layout) {
    std::string why;
    auto plain = PlainOperator({index_, names_, why}, node, layout);
    if (!plain || layout.bias || !layout.result) return false;
    for (std::size_t i = 0; i < layout.operands.size(); ++i) {
      std::string& input = plain->inputs[layout.untouched.size() + i];
      const std::string real = group.Named("real");
      QTX_ASSIGN_OR_RETURN(const bool said, Dequantize(group, node, layout.operands[i], real));
      if (!said) return false;
      input = real;
    }
    plain->outputs = {group.Named("result")};
    group.nodes().push_back(*plain);
    return Quantize(group, plain->outputs[0], node, *layout.result);
  }

  Result<bool> Dequantize(NodeGroup& group, const Node& node, const OperandSlots& slots,
                          const std::string& output) {
    const std::string &value = InputOf(node, slots.value), &scale = InputOf(node, slots.scale),
                      &zero = InputOf(node, slots.zero_point);
    QTX_ASSIGN_OR_RETURN(const auto one, OneReal(scale));
    if (!one || std::isfinite(*one)) {
      group.AddTo({output}, "DequantizeLinear", {value, scale, zero});
      return true;
    }
    QTX_ASSIGN_OR_RETURN(const auto zero_point, ZeroPoint(zero));
    if (!zero_point) return false;
    const std::vector<double> offset = format::StoredValues(*zero_point);
    const auto to = Attribute::Int("to", static_cast<std::int64_t>(ElementType::kFloat));
    const std::string real = group.Add("Cast", {value}, {to});
    const std::string from =
        group.Add("Sub", {real, group.Float(static_cast<float>(offset.front()))});
    group.AddTo({output}, "Mul", {from, group.Float(*one)});
    return true;
  }

  Result<bool> Quantize(NodeGroup& group, const std::string& real, const Node& node,
                        const OperandSlots& slots) {
    const std::string &scale = InputOf(node, slots.scale), &zero = InputOf(node, slots.zero_point);
    QTX_ASSIGN_OR_RETURN(const auto one, OneReal(scale));
    if (!one || std::isfinite(*one)) {
      group.AddTo({node.outputs[0]}, "QuantizeLinear", {real, scale, zero});
      return true;
    }
    QTX_ASSIGN_OR_RETURN(auto zero_point, ZeroPoint(zero));
    if (!zero_point) return false;
    zero_point->dims = {1};
    Attribute value;
    value.name = "value";
    value.type = format::AttributeType::kTensor;
    value.t = format::ToTensorData("", *zero_point);
    group.AddTo({node.outputs[0]}, "ConstantOfShape", {group.Add("Shape", {real})}, {value});
    return true;
  }

  // A constant integer; nullopt where it is none, or not given, which says nothing of its type.
  Result<std::optional<Tensor>> ZeroPoint(const std::string& name) const {
    if (name.empty()) return std::optional<Tensor>();
    QTX_ASSIGN_OR_RETURN(auto tensor, index_.Constant(name));
    const bool taken = tensor && format::StoredValues(*tensor).size() == 1 &&
                       format::IsIntegerStorage(tensor->elem_type);
    return taken ? std::move(tensor) : std::nullopt;
  }

  const GraphIndex& index_;
  Ledger& ledger_;
  graph::Names names_;
};

}  // namespace

Result<std::optional<format::Model>> WithoutBoundlessScales(const format::Model& model,
                                                            Ledger& ledger) {
  QTX_ASSIGN_OR_RETURN(const GraphIndex index, GraphIndex::Of(model));
  return Opener(index, ledger).Run();
}

}  // namespace qtx::convert
