#include "plan.h"

#include <algorithm>
#include <set>

#include "parameters.h"

namespace qtx::reference {
namespace {

using format::AttributeType;
using format::ElementType;

// The quantization of an annotated FLOAT is a remark about it, not its type.
Result<OutputType> TypeOf(const format::Model& model, const format::ValueInfo& value) {
  if (!value.type || value.type->elem_type == ElementType::kUndefined) {
    return Error{ErrorCode::kInvalid, "", "has no tensor type"};
  }
  OutputType type{value.type->elem_type, std::nullopt};
  if (!format::IsQuantized(type.elem_type)) return type;
  if (!value.type->quantization) {
    return Error{ErrorCode::kInvalid, "quantization",
                 std::string(format::Name(type.elem_type)) + " needs parameters"};
  }
  QTX_ASSIGN_OR_RETURN(type.quantization, format::Resolve(model, *value.type->quantization));
  QTX_RETURN_IF_ERROR(CheckParameterValues(type.elem_type, *type.quantization));
  return type;
}

std::string Place(const char* what, const std::string& name) {
  return std::string("graph.") + what + " '" + name + "'";
}

Result<void> LoadInitializers(const format::Model& model, Plan* plan) {
  for (const format::TensorData& data : model.graph.initializers) {
    const std::string place = Place("initializer", data.name);
    auto tensor = format::LoadInitializer(model, data.name);
    if (!tensor.has_value()) return At(place, std::move(tensor).error());
    if (tensor->quantization) {
      auto checked = CheckParameters(tensor->elem_type, *tensor->quantization, tensor->dims);
      if (!checked.has_value()) return At(place, std::move(checked).error());
    }
    plan->types[data.name] = {tensor->elem_type, tensor->quantization};
    plan->initializers[data.name] = *std::move(tensor);
  }
  return {};
}

Result<void> ReadInputs(const format::Model& model, Plan* plan) {
  for (const format::ValueInfo& input : model.graph.inputs) {
    if (plan->initializers.contains(input.name)) continue;  // a default value, always used
    auto type = TypeOf(model, input);
    if (!type.has_value()) return At(Place("input", input.name), std::move(type).error());
    if (!plan->types.emplace(input.name, *std::move(type)).second) {
      return Error{ErrorCode::kInvalid, Place("input", input.name), "is defined twice"};
    }
    plan->inputs.push_back(&input);
  }
  return {};
}

Result<void> CheckAttributes(const format::Node& node, const Operator& op) {
  for (const format::Attribute& attribute : node.attributes) {
    const std::string place = "attribute '" + attribute.name + "'";
    const auto rule = std::ranges::find_if(
        op.attributes,
        [&attribute](const AttributeRule& candidate) { return candidate.name == attribute.name; });
    if (rule == op.attributes.end()) {
      return Error{ErrorCode::kUnsupported, place,
                   "is not known for operator " + std::string(op.op_type)};
    }
    if (attribute.type != rule->type) {
      return Error{ErrorCode::kInvalid, place,
                   "found attribute type " + std::to_string(static_cast<int>(attribute.type)) +
                       ", expected " + std::to_string(static_cast<int>(rule->type))};
    }
  }
  return {};
}

Result<void> CheckInputs(const format::Node& node, const Operator& op, const Plan& plan) {
  const auto count = static_cast<int>(node.inputs.size());
  if (count < op.min_inputs || count > op.max_inputs) {
    return Error{ErrorCode::kInvalid, "inputs",
                 "found " + std::to_string(count) + ", expected " + std::to_string(op.min_inputs) +
                     (op.max_inputs == op.min_inputs ? ""
                      : op.max_inputs == kVariadic   ? " or more"
                                                     : " to " + std::to_string(op.max_inputs))};
  }
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const bool optional = static_cast<int>(i) >= op.min_inputs && op.max_inputs != kVariadic;
    if (node.inputs[i].empty() && optional) continue;
    if (!plan.types.contains(node.inputs[i])) {
      return Error{ErrorCode::kInvalid, "input[" + std::to_string(i) + "] '" + node.inputs[i] + "'",
                   "is defined by no input, initializer or earlier node"};
    }
  }
  return {};
}

// The type of a result that the model does not declare, where the operator alone decides it.
Result<OutputType> InferredType(const format::Node& node, const Plan& plan) {
  const auto input = [&node, &plan](std::size_t i) {
    return i < node.inputs.size() && !node.inputs[i].empty()
               ? plan.types.at(node.inputs[i]).elem_type
               : ElementType::kUndefined;
  };
  ElementType type = input(0);
  if (node.op_type == "QuantizeLinear") {
    const auto named = static_cast<ElementType>(node.IntOr("output_dtype", 0));
    type = input(2) != ElementType::kUndefined ? input(2)
           : named != ElementType::kUndefined  ? named
                                               : ElementType::kUint8;
  } else if (node.op_type == "DequantizeLinear") {
    type = ElementType::kFloat;
  } else if (node.op_type == "Cast") {
    type = static_cast<ElementType>(node.IntOr("to", 0));
  } else if (node.op_type == "Shape") {
    type = ElementType::kInt64;
  } else if (node.op_type == "Constant") {
    const format::Attribute& value = node.attributes[0];
    const bool real = value.type == AttributeType::kFloat || value.type == AttributeType::kFloats;
    type = value.t ? value.t->data_type : real ? ElementType::kFloat : ElementType::kInt64;
  }
  if (!format::IsQuantized(type)) return OutputType{type, std::nullopt};
  return Error{ErrorCode::kInvalid, "output[0] '" + node.outputs[0] + "'",
               "has no declared type, and a quantized one cannot be inferred"};
}

Result<OutputType> OutputOf(const format::Model& model, const format::Node& node,
                            const Plan& plan) {
  if (node.outputs.empty() || node.outputs[0].empty()) {
    return Error{ErrorCode::kInvalid, "outputs", "found none, expected 1"};
  }
  for (std::size_t i = 1; i < node.outputs.size(); ++i) {
    if (node.outputs[i].empty()) continue;
    return Error{ErrorCode::kInvalid,
                 "output[" + std::to_string(i) + "] '" + node.outputs[i] + "'",
                 "operator " + node.op_type + " has one output here"};
  }
  if (plan.types.contains(node.outputs[0])) {
    return Error{ErrorCode::kInvalid, "output[0] '" + node.outputs[0] + "'", "is defined twice"};
  }
  const format::ValueInfo* value = model.graph.FindValue(node.outputs[0]);
  if (value == nullptr || !value->type) return InferredType(node, plan);
  auto type = TypeOf(model, *value);
  if (!type.has_value()) {
    return At("output[0] '" + node.outputs[0] + "'", std::move(type).error());
  }
  return type;
}

Result<Step> PlanStep(const format::Model& model, const format::Node& node, const Plan& plan) {
  if (!node.domain.empty() && node.domain != "ai.onnx") {
    return Error{ErrorCode::kUnsupported, "",
                 "operator " + node.domain + "." + node.op_type + " is not in the reference"};
  }
  Step step;
  step.node = &node;
  step.op = FindOperator(node.op_type);
  if (step.op == nullptr) {
    return Error{ErrorCode::kUnsupported, "",
                 "operator " + node.op_type + " is not in the reference"};
  }
  QTX_RETURN_IF_ERROR(CheckInputs(node, *step.op, plan));
  QTX_RETURN_IF_ERROR(CheckAttributes(node, *step.op));
  if (step.op->check != nullptr) QTX_RETURN_IF_ERROR(step.op->check(node));
  QTX_ASSIGN_OR_RETURN(step.output, OutputOf(model, node, plan));
  return step;
}

// Walks backwards: the first mention met is the last use.
void FindLastUses(const format::Graph& graph, Plan* plan) {
  std::set<std::string> needed;
  for (const format::ValueInfo& output : graph.outputs) needed.insert(output.name);
  for (auto step = plan->steps.rbegin(); step != plan->steps.rend(); ++step) {
    if (needed.insert(step->node->outputs[0]).second) {
      step->last_uses.push_back(step->node->outputs[0]);  // nobody reads it
    }
    for (const std::string& input : step->node->inputs) {
      if (!input.empty() && needed.insert(input).second) step->last_uses.push_back(input);
    }
  }
}

}  // namespace

std::string NodeName(const format::Model& model, std::size_t i) {
  return "graph.node[" + std::to_string(i) + "] '" + model.graph.nodes[i].name + "'";
}

Result<Plan> MakePlan(const format::Model& model) {
  Plan plan;
  QTX_RETURN_IF_ERROR(LoadInitializers(model, &plan));
  QTX_RETURN_IF_ERROR(ReadInputs(model, &plan));
  for (std::size_t i = 0; i < model.graph.nodes.size(); ++i) {
    auto step = PlanStep(model, model.graph.nodes[i], plan);
    if (!step.has_value()) return At(NodeName(model, i), std::move(step).error());
    plan.types[step->node->outputs[0]] = step->output;
    plan.steps.push_back(*std::move(step));
  }
  for (const format::ValueInfo& output : model.graph.outputs) {
    if (!plan.types.contains(output.name)) {
      return Error{ErrorCode::kInvalid, Place("output", output.name), "is produced by no node"};
    }
  }
  FindLastUses(model.graph, &plan);
  return plan;
}

}  // namespace qtx::reference
