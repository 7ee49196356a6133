#include "qtx/formula/interpreter.h"

#include <algorithm>
#include <utility>

#include "qtx/format/levels.h"

namespace qtx::formula {
namespace {

std::string PlaceOf(const format::Node& node, std::size_t i) {
  return "graph.node[" + std::to_string(i) + "] '" +
         (node.name.empty() && !node.outputs.empty() ? node.outputs[0] : node.name) + "'";
}

// What CheckFirst holds the nodes of other operators to.
Result<void> CheckAdded(const format::Node& node, const format::OpSchema& schema) {
  const auto fits = [](const std::vector<std::string>& names,
                       const std::vector<format::ValueRule>& rules) {
    return names.size() <= rules.size() || rules.back().variadic;
  };
  if (fits(node.inputs, schema.inputs) && fits(node.outputs, schema.outputs)) return {};
  return Error{ErrorCode::kInvalid, node.op_type,
               "found " + std::to_string(node.inputs.size()) + " inputs and " +
                   std::to_string(node.outputs.size()) + " outputs, expected at most " +
                   std::to_string(schema.inputs.size()) + " and " +
                   std::to_string(schema.outputs.size())};
}

}  // namespace

Interpreter::Interpreter(const Text& text, format::Model model, std::string arithmetic)
    : text_(&text),
      model_(std::move(model)),
      arithmetic_(std::move(arithmetic)),
      inference_(model_) {}

Result<Interpreter> Interpreter::Prepare(const Text& text, format::Model model,
                                         std::string arithmetic, const AddedTypes& types) {
  const std::vector<std::string> known = text.Arithmetics();
  if (std::ranges::find(known, arithmetic) == known.end()) {
    return Error{ErrorCode::kUnsupported, "",
                 "found arithmetic '" + arithmetic + "', expected one of the text"};
  }
  bool adds = false;
  for (const format::Node& node : model.graph.nodes) {
    if (!text.Adds(node.domain, node.op_type)) continue;
    adds = true;
    QTX_RETURN_IF_ERROR(CheckAdded(node, *text.FindSchema(node.domain, node.op_type)));
  }
  if (!adds) {
    const auto checked = format::CheckFirst(model);
    if (!checked && !text.Constrains(checked.error().clause)) return checked.error();
  }
  Interpreter interpreter(text, std::move(model), std::move(arithmetic));
  QTX_RETURN_IF_ERROR(interpreter.ReadTypes(types));
  QTX_RETURN_IF_ERROR(interpreter.CheckNodes());
  return interpreter;
}

Result<void> Interpreter::ReadTypes(const AddedTypes& types) {
  for (const auto& [value, name] : types) {
    const auto table = std::ranges::find(text_->tables(), name, &ElementTable::name);
    if (table == text_->tables().end()) {
      return Error{ErrorCode::kInvalid, "'" + value + "'",
                   "found type " + name + ", which the text does not have"};
    }
    tables_[value] = &*table;
  }
  const format::ModelView view = format::ModelView::Indexed(model_);
  for (const format::TensorData& initializer : model_.graph.initializers) {
    QTX_ASSIGN_OR_RETURN(format::Tensor tensor, format::LoadInitializer(view, initializer.name));
    if (tensor.quantization) QTX_RETURN_IF_ERROR(ReadFactors(view, initializer.name));
    constants_.emplace(initializer.name, std::move(tensor));
  }
  for (const format::ValueInfo& input : model_.graph.inputs) {
    if (constants_.contains(input.name)) continue;
    auto& quantization = inputs_.emplace_back();
    if (!input.type || !input.type->quantization) continue;
    QTX_ASSIGN_OR_RETURN(quantization, format::Resolve(view, *input.type));
  }
  for (const format::Node& node : model_.graph.nodes) {
    std::vector<ValueType>& outputs = types_.emplace_back();
    for (const std::string& name : node.outputs) {
      QTX_ASSIGN_OR_RETURN(outputs.emplace_back(), TypeOf(view, name));
    }
  }
  return {};
}

Result<void> Interpreter::ReadFactors(const format::ModelView& view, const std::string& name) {
  const format::TensorType& type = *view.FindValue(name)->type;
  if (!format::HasLevels(*type.quantization)) return {};
  QTX_ASSIGN_OR_RETURN(factors_[name], format::FactorsOf(view, type, name));
  return {};
}

// As far as constants and declared types decide.
Result<void> Interpreter::CheckNodes() const {
  const format::ModelView view = format::ModelView::Indexed(model_);
  Values constants;
  for (const auto& [name, tensor] : constants_) constants[name] = &tensor;
  for (std::size_t i = 0; i < model_.graph.nodes.size(); ++i) {
    const format::Node& node = model_.graph.nodes[i];
    Call call = CallOf(i, constants);
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      ValueType& type = call.input_types.emplace_back();
      if (node.inputs[k].empty() || call.inputs[k] != nullptr) continue;
      QTX_ASSIGN_OR_RETURN(type, TypeOf(view, node.inputs[k]));
    }
    const auto kept = CheckNode(*text_, call);
    if (!kept && !kept.error().clause.empty()) return At(PlaceOf(node, i), kept.error());
  }
  return {};
}

Result<std::vector<format::Tensor>> Interpreter::Run(std::span<const format::Tensor> inputs) const {
  if (inputs.size() != inputs_.size()) {
    return Error{ErrorCode::kInvalid, "inputs",
                 "found " + std::to_string(inputs.size()) + " tensors, expected " +
                     std::to_string(inputs_.size())};
  }
  std::vector<format::Tensor> given(inputs.begin(), inputs.end());
  Values values;
  std::size_t next = 0;
  for (const format::ValueInfo& input : model_.graph.inputs) {
    if (constants_.contains(input.name)) continue;
    given[next].quantization = inputs_[next];
    values[input.name] = &given[next++];
  }
  for (const auto& [name, tensor] : constants_) values[name] = &tensor;
  std::vector<std::vector<format::Tensor>> computed(model_.graph.nodes.size());
  for (std::size_t i = 0; i < model_.graph.nodes.size(); ++i) {
    const format::Node& node = model_.graph.nodes[i];
    auto outputs = Compute(*text_, CallOf(i, values), arithmetic_);
    if (!outputs) return At(PlaceOf(node, i), outputs.error());
    computed[i] = *std::move(outputs);
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      if (!node.outputs[k].empty()) values[node.outputs[k]] = &computed[i][k];
    }
  }
  std::vector<format::Tensor> outputs;
  for (const format::ValueInfo& output : model_.graph.outputs) {
    outputs.push_back(*values.find(output.name)->second);
  }
  return outputs;
}

Result<ValueType> Interpreter::TypeOf(const format::ModelView& view,
                                      const std::string& name) const {
  ValueType type;
  if (name.empty()) return type;
  type.given = true;
  type.table = TableOf(name);
  if (const format::ValueFacts* facts = inference_.Find(name)) type.type = facts->type;
  const format::ValueInfo* declared = view.FindValue(name);
  if (declared == nullptr || !declared->type) return type;
  type.type = declared->type->elem_type;
  if (declared->type->quantization) {
    QTX_ASSIGN_OR_RETURN(type.quantization, format::Resolve(view, *declared->type, name));
  }
  if (declared->type->shape) type.dims = format::FixedDims(*declared->type->shape);
  return type;
}

const ElementTable* Interpreter::TableOf(const std::string& name) const {
  const auto found = tables_.find(name);
  return found == tables_.end() ? nullptr : found->second;
}

Call Interpreter::CallOf(std::size_t i, const Values& values) const {
  const format::Node& node = model_.graph.nodes[i];
  Call call;
  call.node = &node;
  call.schema = text_->FindSchema(node.domain, node.op_type);
  call.opset = format::OnnxOpset(model_);
  for (const std::string& input : node.inputs) {
    const auto found = values.find(input);
    call.inputs.push_back(input.empty() || found == values.end() ? nullptr : found->second);
    call.initializers.push_back(constants_.contains(input));
    call.tables.push_back(TableOf(input));
    const auto factors = factors_.find(input);
    call.factors.push_back(factors == factors_.end() ? nullptr : &factors->second);
  }
  call.outputs = types_[i];
  return call;
}

}  // namespace qtx::formula
