// RewriteQonnx: rewrites each node, then inserts new declarations and folded initializers.
#include "qonnx/rewrite.h"

#include <algorithm>
#include <set>

#include "onnx/quantized_types.h"
#include "qonnx/channels_last.h"
#include "qonnx/dialect.h"
#include "qonnx/rewriter.h"
#include "qonnx/trunc.h"
#include "qtx/format/annotation.h"

namespace qtx::convert {

using format::ElementType;
using format::Model;
using format::Node;
using format::TensorType;

Result<void> QonnxRewriter::VisitQuantizer(const Node& node) {
  if (node.inputs.empty() || node.outputs.size() != 1)
    return Error{ErrorCode::kInvalid, "inputs and outputs", "expected inputs and one output"};
  // A graph input that was quantized itself has the annotation.
  const TensorType* annotation = Annotation(node.outputs[0]);
  if (annotation == nullptr && index_.IsInput(node.inputs[0]))
    annotation = Annotation(node.inputs[0]);
  const ElementType preferred =
      annotation == nullptr ? ElementType::kUndefined : annotation->quantization->storage_type;
  QTX_ASSIGN_OR_RETURN(const QonnxQuantizer quantizer, ReadQonnxQuantizer(index_, node, preferred));
  parameters_.insert(node.inputs.begin() + 1, node.inputs.end());
  QTX_ASSIGN_OR_RETURN(const std::optional<format::Tensor> real, index_.Constant(node.inputs[0]));
  if (real && !index_.IsOutput(node.outputs[0])) return Fold(node, *real, quantizer);
  if (quantizer.rounding != QonnxRounding::kHalfEven) {
    return Error{ErrorCode::kUnsupported, "rounding_mode",
                 "'" + quantizer.rounding_name +
                     "' on a computed value; a quantized type rounds half to even"};
  }
  NoteRounding(node, quantizer);
  if (quantizer.quantization.axis.size() > 1) {
    AddTyped(node, quantizer);
  } else {
    AddPair(node, quantizer);
  }
  return {};
}

// `from` and a FLOAT constant, under a name made of the node's output.
std::string QonnxRewriter::AddOperand(const Node& node, const char* op_type,
                                      const std::string& from, float operand) {
  const std::string& value = node.outputs[0];
  format::Tensor tensor{ElementType::kFloat, {}, std::nullopt, {}};
  const auto bytes = std::as_bytes(std::span(&operand, 1));
  tensor.bytes.assign(bytes.begin(), bytes.end());
  const std::string constant = names_.Unique(value + "/" + op_type + "/operand");
  model_.graph.initializers.push_back(format::ToTensorData(constant, tensor));
  Node made = Derived(node, op_type);
  made.name = value + "/" + op_type;
  made.inputs = {from, constant};
  made.outputs = {names_.Unique(made.name)};
  nodes_.push_back(made);
  return made.outputs[0];
}

Result<void> QonnxRewriter::VisitTrunc(const Node& node) {
  QTX_ASSIGN_OR_RETURN(const TruncForm form, ReadTrunc(index_, node));
  parameters_.insert(node.inputs.begin() + 1, node.inputs.end());
  Node step = node;
  step.outputs = {names_.Unique(node.outputs[0] + "/whole")};
  AddPair(step, form.from);
  std::string from = step.outputs[0];
  if (form.shifted) from = AddOperand(node, "Add", from, *form.shifted);
  if (form.factor) from = AddOperand(node, "Mul", from, *form.factor);
  step = node;
  step.inputs = {from};
  AddPair(step, form.to);
  ledger_.Changed(node.outputs[0], "value",
                  "Trunc as a type of the integers and one of the result");
  return {};
}

Result<void> QonnxRewriter::Visit(const Node& node) {
  if (!IsQonnxDomain(node.domain)) {
    for (const std::string& output : node.outputs) made_[output] = nodes_.size();
    nodes_.push_back(node);
    return {};
  }
  if (IsQonnxQuantizer(node)) return VisitQuantizer(node);
  if (node.op_type == "Trunc") return VisitTrunc(node);
  const auto unique = [this](const std::string& name) { return names_.Unique(name); };
  if (IsChannelsLast(node)) {
    QTX_ASSIGN_OR_RETURN(const auto nodes, ChannelsFirst(index_, node, unique));
    nodes_.insert(nodes_.end(), nodes.begin(), nodes.end());
    ledger_.Changed(node.outputs[0], "layout", node.op_type + " between two Transposes");
    return {};
  }
  if (node.op_type == "MultiThreshold") {
    return Error{ErrorCode::kUnsupported, "MultiThreshold",
                 "counts the thresholds a value reaches; no quantized type rounds so"};
  }
  return Error{ErrorCode::kUnsupported, node.domain + "." + node.op_type,
               "the extended form has no such operator"};
}

// Inserts declarations and folded initializers in place of the old ones.
void QonnxRewriter::Apply() {
  format::Graph& graph = model_.graph;
  std::erase_if(graph.values, [&](const auto& info) {
    return folded_.contains(info.name) || taken_.contains(info.name);
  });
  for (auto* list : {&graph.inputs, &graph.outputs, &graph.values}) {
    for (format::ValueInfo& info : *list) {
      const auto found = types_.find(info.name);
      if (found == types_.end()) continue;
      info.type = std::move(found->second);
      types_.erase(found);
    }
  }
  for (const std::string& name : order_) {
    const auto found = types_.find(name);
    if (found == types_.end()) continue;
    format::ValueInfo info;
    info.name = name;
    info.type = std::move(found->second);
    graph.values.push_back(std::move(info));
  }
  for (format::TensorData& data : graph.initializers) {
    if (const auto found = folded_.find(data.name); found != folded_.end())
      data = std::move(found->second);
  }
  for (Node& node : nodes_) {
    for (std::string& input : node.inputs) {
      if (const auto found = renamed_.find(input); found != renamed_.end()) input = found->second;
    }
  }
  graph.nodes = std::move(nodes_);
}

// Parameters and constants that only the quantizers read.
void QonnxRewriter::DropParameters() {
  format::Graph& graph = model_.graph;
  for (const Node& node : graph.nodes) {
    for (const std::string& input : node.inputs) parameters_.erase(input);
  }
  for (const format::ValueInfo& info : graph.outputs) parameters_.erase(info.name);
  for (const std::string& name : NamedParameters(graph)) parameters_.erase(name);
  const auto unused = [&](const auto& entry) { return parameters_.contains(entry.name); };
  std::erase_if(graph.initializers, unused);
  std::erase_if(graph.values, unused);
  std::erase_if(graph.nodes, [&](const Node& node) {
    return IsStock(node, "Constant") && node.outputs.size() == 1 &&
           parameters_.contains(node.outputs[0]);
  });
}

Result<Model> QonnxRewriter::Run() {
  for (const Node& node : index_.model().graph.nodes) {
    auto visited = Visit(node);
    if (!visited.has_value()) return At(PlaceOf(node), visited.error());
  }
  Apply();
  DropParameters();
  std::erase_if(model_.opset_imports,
                [](const auto& import) { return IsQonnxDomain(import.domain); });
  return std::move(model_);
}

namespace {

// Files of ONNX's first versions, and many exporters since, list every initializer as an input too.
Model WithoutDefaults(const Model& model, Ledger& ledger) {
  std::set<std::string_view> defaults;
  for (const format::TensorData& data : model.graph.initializers) defaults.insert(data.name);
  Model constants = model;
  std::erase_if(constants.graph.inputs, [&](const format::ValueInfo& info) {
    if (!defaults.contains(info.name)) return false;
    ledger.Changed(info.name, "input", "a constant; its default counts");
    return true;
  });
  return constants;
}

}  // namespace

Result<Model> RewriteQonnx(const Model& model, Ledger& ledger) {
  const bool any = std::ranges::any_of(model.graph.nodes,
                                       [](const Node& node) { return IsQonnxDomain(node.domain); });
  if (!any) return model;
  const Model constants = WithoutDefaults(model, ledger);
  QTX_ASSIGN_OR_RETURN(const GraphIndex index, GraphIndex::Of(constants));
  return QonnxRewriter(index, ledger).Run();
}

}  // namespace qtx::convert
