#include "plan.h"

#include <algorithm>
#include <set>

#include "parameters.h"
#include "qtx/format/levels.h"

namespace qtx::reference {
namespace {

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
  QTX_ASSIGN_OR_RETURN(type.quantization, format::Resolve(model, *value.type));
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
    const bool optional = (static_cast<int>(i) >= op.min_inputs && op.max_inputs != kVariadic) ||
                          std::ranges::find(op.optional_inputs, i) != op.optional_inputs.end();
    if (node.inputs[i].empty() && optional) continue;
    if (!plan.types.contains(node.inputs[i])) {
      return Error{ErrorCode::kInvalid, "input[" + std::to_string(i) + "] '" + node.inputs[i] + "'",
                   "is defined by no input, initializer or earlier node"};
    }
  }
  return {};
}

// The type of output `i` where the model does not declare it and the operator alone decides it.
Result<OutputType> InferredType(const format::Node& node, const Operator& op, std::size_t i,
                                const Plan& plan) {
  std::vector<ElementType> inputs;
  for (const std::string& name : node.inputs) {
    inputs.push_back(name.empty() ? ElementType::kUndefined : plan.types.at(name).elem_type);
  }
  const ElementType type = op.infer != nullptr ? op.infer(node, inputs, i)
                           : inputs.empty()    ? ElementType::kUndefined
                                               : inputs[0];
  if (type != ElementType::kUndefined && !format::IsQuantized(type)) {
    return OutputType{type, std::nullopt};
  }
  return Error{ErrorCode::kInvalid, "",
               "has no declared type, and " + std::string(format::IsQuantized(type)
                                                              ? "a quantized one cannot be inferred"
                                                              : "none can be inferred")};
}

Result<OutputType> OutputOf(const format::Model& model, const format::Node& node,
                            const Operator& op, std::size_t i, const Plan& plan) {
  const std::string& name = node.outputs[i];
  if (plan.types.contains(name)) return Error{ErrorCode::kInvalid, "", "is defined twice"};
  const format::ValueInfo* value = model.graph.FindValue(name);
  if (value == nullptr || !value->type) return InferredType(node, op, i, plan);
  return TypeOf(model, *value);
}

Result<std::vector<OutputType>> OutputsOf(const format::Model& model, const format::Node& node,
                                          const Operator& op, const Plan& plan) {
  if (node.outputs.empty() || node.outputs.size() > static_cast<std::size_t>(op.max_outputs)) {
    return Error{ErrorCode::kInvalid, "outputs",
                 "found " + std::to_string(node.outputs.size()) + ", expected 1" +
                     (op.max_outputs == 1           ? ""
                      : op.max_outputs == kVariadic ? " or more"
                                                    : " to " + std::to_string(op.max_outputs))};
  }
  std::vector<OutputType> types;
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    types.emplace_back();
    if (node.outputs[i].empty()) continue;
    auto type = OutputOf(model, node, op, i, plan);
    if (!type.has_value()) {
      return At("output[" + std::to_string(i) + "] '" + node.outputs[i] + "'",
                std::move(type).error());
    }
    types.back() = *std::move(type);
  }
  return types;
}

Result<Step> PlanStep(const format::Model& model, const format::Node& node, const Plan& plan) {
  Step step;
  step.node = &node;
  step.op = FindOperator(node.domain, node.op_type);
  if (step.op == nullptr) {
    return Error{ErrorCode::kUnsupported, "",
                 "operator " + node.domain + (node.domain.empty() ? "" : ".") + node.op_type +
                     " is not in the reference"};
  }
  QTX_RETURN_IF_ERROR(CheckInputs(node, *step.op, plan));
  QTX_RETURN_IF_ERROR(CheckAttributes(node, *step.op));
  if (step.op->check != nullptr) QTX_RETURN_IF_ERROR(step.op->check(node));
  QTX_ASSIGN_OR_RETURN(step.outputs, OutputsOf(model, node, *step.op, plan));
  for (const std::string& name : node.inputs) {
    step.initializers.push_back(plan.initializers.contains(name));
  }
  return step;
}

// Walks backwards: the first mention met is the last use.
void FindLastUses(const format::Graph& graph, Plan* plan) {
  std::set<std::string> needed;
  for (const format::ValueInfo& output : graph.outputs) needed.insert(output.name);
  for (auto step = plan->steps.rbegin(); step != plan->steps.rend(); ++step) {
    for (const auto* names : {&step->node->outputs, &step->node->inputs}) {  // unread, or read last
      for (const std::string& name : *names) {
        if (!name.empty() && needed.insert(name).second) step->last_uses.push_back(name);
      }
    }
  }
}

}  // namespace

const std::string& NameToUsers(const format::Node& node) {
  return node.name.empty() ? node.outputs[0] : node.name;
}

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
    for (std::size_t k = 0; k < step->outputs.size(); ++k) {
      if (!step->node->outputs[k].empty()) plan.types[step->node->outputs[k]] = step->outputs[k];
    }
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
