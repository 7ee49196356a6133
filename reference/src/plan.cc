#include "plan.h"

#include <set>

#include "arithmetic/ggml_kernels.h"
#include "parameters.h"
#include "qtx/format/inference.h"
#include "qtx/format/levels.h"

namespace qtx::reference {
namespace {

using format::ElementType;

// The quantization of an annotated FLOAT is a remark about it, not its type.
Result<OutputType> TypeOf(const format::ModelView& view, const format::ValueInfo& value) {
  if (!value.type || value.type->elem_type == ElementType::kUndefined) {
    return Error{ErrorCode::kInvalid, "", "has no tensor type"};
  }
  OutputType type{value.type->elem_type, std::nullopt};
  if (!format::IsQuantized(type.elem_type)) return type;
  if (!value.type->quantization) {
    return Error{ErrorCode::kInvalid, "quantization",
                 std::string(format::Name(type.elem_type)) + " needs parameters"};
  }
  QTX_ASSIGN_OR_RETURN(type.quantization, format::Resolve(view, *value.type, value.name));
  QTX_RETURN_IF_ERROR(CheckParameterValues(type.elem_type, *type.quantization));
  return type;
}

constexpr std::int64_t kOldestWithBodies = 9;  // Scan was another operator before

std::string Place(const char* what, const std::string& name) {
  return std::string("graph.") + what + " '" + name + "'";
}

Result<void> LoadInitializers(const format::ModelView& view, Plan* plan) {
  for (const format::TensorData& data : view.model().graph.initializers) {
    QTX_ASSIGN_OR_RETURN(format::Tensor tensor, format::LoadInitializer(view, data.name));
    if (tensor.quantization) {
      auto checked = CheckParameters(tensor.elem_type, *tensor.quantization, tensor.dims,
                                     ParameterRole::kInitializer);
      if (!checked.has_value())
        return At(Place("initializer", data.name), std::move(checked).error());
    }
    plan->types[data.name] = {tensor.elem_type, tensor.quantization};
    plan->initializers[data.name] = std::move(tensor);
  }
  return {};
}

Result<void> ReadInputs(const format::FlatModel& flat, const format::ModelView& view, Plan* plan) {
  for (const format::ValueInfo& input : flat.model().graph.inputs) {
    if (flat.ScopeOf(input.name) != 0) continue;            // of a body
    if (plan->initializers.contains(input.name)) continue;  // a default value, always used
    auto type = TypeOf(view, input);
    if (!type.has_value()) return At(Place("input", input.name), std::move(type).error());
    plan->types[input.name] = *std::move(type);
    plan->inputs.push_back(&input);
  }
  return {};
}

// The type of an output: as the model declares it or, where it does not, as the catalogue has it.
Result<OutputType> OutputOf(const format::ModelView& view, const format::Inference& inference,
                            const std::string& name) {
  const format::ValueInfo* value = view.FindValue(name);
  if (value != nullptr && value->type) return TypeOf(view, *value);
  const format::ValueFacts* facts = inference.Find(name);
  if (facts != nullptr && facts->type != ElementType::kUndefined) return OutputType{facts->type};
  return Error{ErrorCode::kInvalid, "", "has no declared type, and none follows", "graph.C8"};
}

Result<std::vector<OutputType>> OutputsOf(const format::ModelView& view,
                                          const format::Inference& inference,
                                          const format::Node& node) {
  std::vector<OutputType> types;
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    types.emplace_back();
    if (node.outputs[i].empty()) continue;
    auto type = OutputOf(view, inference, node.outputs[i]);
    if (!type.has_value()) {
      return At("output[" + std::to_string(i) + "] '" + node.outputs[i] + "'",
                std::move(type).error());
    }
    types.back() = *std::move(type);
  }
  return types;
}

Result<Step> PlanStep(const format::ModelView& view, const format::Inference& inference,
                      const format::Node& node, const Plan& plan) {
  Step step;
  step.node = &node;
  step.op = FindOperator(node.domain, node.op_type);
  const bool has_bodies = format::IsControlFlow(node) && node.op_type != "SequenceMap" &&
                          format::OnnxOpset(view.model()) >= kOldestWithBodies;
  if (step.op == nullptr && !has_bodies) {
    return Error{ErrorCode::kUnsupported, "",
                 "operator " + node.domain + (node.domain.empty() ? "" : ".") + node.op_type +
                     " is not in the reference"};
  }
  if (step.op != nullptr && step.op->supports != nullptr) {
    QTX_RETURN_IF_ERROR(step.op->supports(node, format::OnnxOpset(view.model())));
  }
  QTX_ASSIGN_OR_RETURN(step.outputs, OutputsOf(view, inference, node));
  for (const std::string& name : node.outputs) step.declared.push_back(view.FindValue(name));
  for (const std::string& name : node.inputs) {
    step.initializers.push_back(plan.initializers.contains(name));
  }
  return step;
}

// The names that a step reads of the graph that it is in: what its bodies capture there, too.
std::vector<std::string> ReadBy(const format::FlatModel& flat, const Plan& plan, std::size_t at) {
  std::vector<std::string> names = plan.steps[at].node->inputs;
  for (const format::Scope& body : plan.steps[at].bodies) {
    for (std::size_t i = body.begin; i < body.end; ++i) {
      const std::vector<std::string>& inputs = plan.steps[i].node->inputs;
      names.insert(names.end(), inputs.begin(), inputs.end());
    }
  }
  const std::size_t scope = plan.scope_of[at];
  std::erase_if(
      names, [&](const std::string& name) { return name.empty() || flat.ScopeOf(name) != scope; });
  return names;
}

// Walks backwards: the first mention met is the last use.
void FindLastUses(const format::FlatModel& flat, Plan* plan) {
  std::set<std::string> needed;
  for (const format::ValueInfo& output : flat.model().graph.outputs) needed.insert(output.name);
  for (std::size_t i = plan->steps.size(); i-- > 0;) {
    Step& step = plan->steps[i];
    for (const std::string& name : step.node->outputs) {  // unread
      if (!name.empty() && needed.insert(name).second) step.last_uses.push_back(name);
    }
    for (const std::string& name : ReadBy(flat, *plan, i)) {
      if (needed.insert(name).second) step.last_uses.push_back(name);
    }
  }
}

// The nodes of each graph, and the bodies of each node.
void AddGraphs(const format::FlatModel& flat, Plan* plan) {
  const auto& scopes = flat.scopes();
  plan->graphs.resize(scopes.size());
  plan->scope_of.assign(plan->steps.size(), 0);
  for (std::size_t scope = 1; scope < scopes.size(); ++scope) {
    plan->steps[scopes[scope].node].bodies.push_back(scopes[scope]);
    for (std::size_t i = scopes[scope].begin; i < scopes[scope].end; ++i) plan->scope_of[i] = scope;
  }
  for (std::size_t i = 0; i < plan->steps.size(); ++i) plan->graphs[plan->scope_of[i]].push_back(i);
}

}  // namespace

const std::string& NameToUsers(const format::Node& node) {
  return node.name.empty() ? node.outputs[0] : node.name;
}

std::string NodeName(const format::Model& model, std::size_t i) {
  return "graph.node[" + std::to_string(i) + "] '" + model.graph.nodes[i].name + "'";
}

Result<void> LoadFactors(const format::FlatModel& flat,
                         std::span<const Arithmetic* const> arithmetics, Plan* plan) {
  const auto view = format::ModelView::Indexed(flat.model());
  for (std::size_t i = 0; i < plan->steps.size(); ++i) {
    Step& step = plan->steps[i];
    const std::string& op = step.node->op_type;
    if (!IsGgml(*arithmetics[i]) || (op != "MatMul" && op != "Gemm")) continue;
    if (step.node->inputs.size() < 2 || !step.initializers[1]) continue;
    const std::string& name = step.node->inputs[1];
    const format::ValueInfo* value = view.FindValue(name);
    if (value == nullptr || !value->type || !value->type->quantization ||
        value->type->quantization->scale_levels.size() < 2) {
      continue;
    }
    if (!plan->factors.contains(name)) {
      auto factors = format::FactorsOf(view, *value->type, name);
      if (!factors.has_value()) return At(Place("initializer", name), std::move(factors).error());
      plan->factors[name] = *std::move(factors);
    }
    step.factors.assign(step.node->inputs.size(), nullptr);
    step.factors[1] = &plan->factors.at(name);
  }
  return {};
}

Result<Plan> MakePlan(const format::FlatModel& flat) {
  const format::Model& model = flat.model();
  Plan plan;
  const auto view = format::ModelView::Indexed(model);
  QTX_RETURN_IF_ERROR(LoadInitializers(view, &plan));
  QTX_RETURN_IF_ERROR(ReadInputs(flat, view, &plan));
  const format::Inference inference(flat);
  for (std::size_t i = 0; i < model.graph.nodes.size(); ++i) {
    auto step = PlanStep(view, inference, model.graph.nodes[i], plan);
    if (!step.has_value())
      return At(
          flat.PlaceOf("node", i) + " '" + std::string(flat.Bare(model.graph.nodes[i].name)) + "'",
          std::move(step).error());
    for (std::size_t k = 0; k < step->outputs.size(); ++k) {
      if (!step->node->outputs[k].empty()) plan.types[step->node->outputs[k]] = step->outputs[k];
    }
    plan.steps.push_back(*std::move(step));
  }
  AddGraphs(flat, &plan);
  FindLastUses(flat, &plan);
  return plan;
}

}  // namespace qtx::reference
