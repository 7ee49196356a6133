#include "qtx/reference/interpreter.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "arithmetic/elementwise.h"
#include "control_flow.h"
#include "parameters.h"
#include "plan.h"
#include "qtx/format/check.h"
#include "qtx/format/levels.h"
#include "qtx/format/scopes.h"

namespace qtx::reference {
namespace {

using format::Tensor;

// Errors: kInvalid where a dimension that is a number differs from `dims`.
Result<void> CheckShape(const std::optional<format::Shape>& declared, const format::Dims& dims) {
  if (!declared) return {};
  bool fits = declared->size() == dims.size();
  for (std::size_t i = 0; fits && i < dims.size(); ++i) {
    fits = !(*declared)[i].value || *(*declared)[i].value == dims[i];
  }
  if (fits) return {};
  return Error{
      ErrorCode::kInvalid, "",
      "found shape " + format::ToString(dims) + ", declared " + format::ToString(*declared)};
}

// Errors: kInvalid when the bytes do not match the type and shape.
Result<void> CheckBytes(const Tensor& tensor) {
  QTX_RETURN_IF_ERROR(CheckComputable(tensor.dims));
  QTX_ASSIGN_OR_RETURN(const std::int64_t count, format::ElementCount(tensor.dims));
  QTX_ASSIGN_OR_RETURN(const std::int64_t bytes, format::PackedBytes(tensor.elem_type, count));
  if (static_cast<std::int64_t>(tensor.bytes.size()) == bytes) return {};
  return Error{
      ErrorCode::kInvalid, "",
      "found " + std::to_string(tensor.bytes.size()) + " bytes, expected " + std::to_string(bytes)};
}

// `real` by the parameters of the input it was given for.  Source: quantization.S5.
Result<Tensor> Quantized(const Arithmetic& arithmetic, const Tensor& real, const OutputType& type,
                         Counters* counters) {
  const format::Node node;
  const Call call{.node = node,
                  .arithmetic = arithmetic,
                  .opset = 0,
                  .inputs = {},
                  .outputs = {&type, 1},
                  .counters = counters};
  QTX_ASSIGN_OR_RETURN(const Operand operand, Operand::Make(real));
  return ConvertAll(call, operand);
}

// The clause that an output of another shape than the declared one breaks; empty of control flow.
std::string_view ShapeClause(const Step& step) {
  if (step.op == nullptr) return {};
  const format::OpSchema* schema = format::FindSchema(step.op->domain, step.op->op_type);
  return schema == nullptr ? std::string_view() : schema->shape_clause;
}

// A given input as a tensor of the declared type: itself, FLOAT quantized, or stored integers that
// get the declared parameters.
Result<Tensor> AcceptInput(const Arithmetic& arithmetic, const Tensor& given,
                           const OutputType& type, Counters* counters) {
  QTX_RETURN_IF_ERROR(CheckBytes(given));
  if (!type.quantization) {
    if (given.elem_type == type.elem_type) return given;
  } else if (given.elem_type == format::ElementType::kFloat) {
    return Quantized(arithmetic, given, type, counters);
  } else if (given.elem_type == type.elem_type ||
             given.elem_type == format::StorageOf(type.elem_type)) {
    if (given.quantization && !format::SameParameters(*given.quantization, *type.quantization)) {
      return Error{ErrorCode::kInvalid, "quantization", "differs from the declared parameters"};
    }
    QTX_RETURN_IF_ERROR(CheckParameters(type.elem_type, *type.quantization, given.dims));
    Tensor typed = given;
    typed.elem_type = type.elem_type;
    typed.quantization = type.quantization;
    return typed;
  }
  return Error{ErrorCode::kInvalid, "",
               "found type " + std::string(format::Name(given.elem_type)) + ", expected " +
                   std::string(format::Name(type.elem_type)) +
                   (type.quantization ? " or FLOAT" : "")};
}

// The arithmetic of each step.
Result<std::vector<const Arithmetic*>> ArithmeticsOf(const Plan& plan, const Arithmetic* fallback,
                                                     const Interpreter::NodeArithmetics& by_node,
                                                     format::Features features) {
  std::vector<const Arithmetic*> rows(plan.steps.size(), fallback);
  for (const auto& [name, arithmetic] : by_node) {
    auto row = FindArithmetic(arithmetic, features);
    if (!row.has_value()) return At("node '" + name + "'", std::move(row).error());
    bool found = false;
    for (std::size_t i = 0; i < plan.steps.size(); ++i) {
      if (NameToUsers(*plan.steps[i].node) != name) continue;
      rows[i] = *row;
      found = true;
    }
    if (!found) {
      return Error{ErrorCode::kInvalid, "node '" + name + "'",
                   "the model has no node of this name"};
    }
  }
  return rows;
}

}  // namespace

struct Interpreter::State {
  format::Model model;
  std::optional<format::FlatModel> flat;            // of `model`
  std::optional<Arithmetic> own_row;                // when it is none of the table's
  const Arithmetic* arithmetic = nullptr;           // of the inputs
  std::vector<const Arithmetic*> node_arithmetics;  // of each step of the plan
  Plan plan;
  std::int64_t opset = 0;
  Observer observer;
  Counters counters;
  std::map<std::string, Tensor> values;  // of the run in progress
  std::int64_t body_runs = 0;            // likewise

  Result<void> Load(format::Model given, const NodeArithmetics& by_node, format::Features features);
  Result<void> Bind(std::span<const Tensor> inputs);
  Result<void> RunGraph(std::size_t scope);
  Result<void> RunBody(const format::Scope& body);
  Result<std::vector<Tensor>> Compute(std::size_t at);
  Result<void> Execute(std::size_t at);
  Result<std::vector<Tensor>> Collect();
  std::string PlaceOf(std::size_t node) const;
  const Tensor* Find(const std::string& name) const;
};

const Tensor* Interpreter::State::Find(const std::string& name) const {
  if (const auto value = values.find(name); value != values.end()) return &value->second;
  const auto initializer = plan.initializers.find(name);
  return initializer == plan.initializers.end() ? nullptr : &initializer->second;
}

Result<void> Interpreter::State::Load(format::Model given, const NodeArithmetics& by_node,
                                      format::Features features) {
  QTX_RETURN_IF_ERROR(format::CheckFirst(given, features));
  model = format::AsUnderstood(std::move(given), features);
  flat.emplace(model);
  auto made = MakePlan(*flat);
  if (!made.has_value()) return flat->Readable(std::move(made).error());
  plan = *std::move(made);
  QTX_ASSIGN_OR_RETURN(node_arithmetics, ArithmeticsOf(plan, arithmetic, by_node, features));
  QTX_RETURN_IF_ERROR(LoadFactors(*flat, node_arithmetics, &plan));
  opset = format::OnnxOpset(model);
  return {};
}

Result<void> Interpreter::State::Bind(std::span<const Tensor> inputs) {
  if (inputs.size() != plan.inputs.size()) {
    return Error{ErrorCode::kInvalid, "inputs",
                 "found " + std::to_string(inputs.size()) + ", expected " +
                     std::to_string(plan.inputs.size())};
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const format::ValueInfo& declared = *plan.inputs[i];
    const std::string place = "input[" + std::to_string(i) + "] '" + declared.name + "'";
    auto shape = CheckShape(declared.type->shape, inputs[i].dims);
    if (!shape.has_value()) return At(place, std::move(shape).error());
    auto tensor = AcceptInput(*arithmetic, inputs[i], plan.types.at(declared.name), &counters);
    if (!tensor.has_value()) return At(place, std::move(tensor).error());
    values[declared.name] = *std::move(tensor);
  }
  return {};
}

std::string Interpreter::State::PlaceOf(std::size_t node) const {
  const std::string& name = flat->model().graph.nodes[node].name;
  return flat->PlaceOf("node", node) + " '" + std::string(flat->Bare(name)) + "'";
}

Result<void> Interpreter::State::RunGraph(std::size_t scope) {
  for (const std::size_t i : plan.graphs[scope]) {
    auto done = Execute(i);
    // The place of a node of a body says the nodes that it is within.
    if (!done.has_value() && done.error().where.starts_with("graph.node")) return done;
    if (!done.has_value()) return At(PlaceOf(i), std::move(done).error());
  }
  return {};
}

Result<void> Interpreter::State::RunBody(const format::Scope& body) {
  if (++body_runs > kMaxBodyRuns) {
    return Error{ErrorCode::kTooLarge, "",
                 "bodies would run more than " + std::to_string(kMaxBodyRuns) + " times"};
  }
  return RunGraph(flat->ScopeOf(body.prefix + "v"));
}

Result<std::vector<Tensor>> Interpreter::State::Compute(std::size_t at) {
  const Step& step = plan.steps[at];
  if (step.op == nullptr) {
    return RunBodies(step, {.find = [this](const std::string& name) { return Find(name); },
                            .set =
                                [this](const std::string& name, Tensor value) {
                                  if (observer) observer(name, value);
                                  values[name] = std::move(value);
                                },
                            .run = [&](std::size_t i) { return RunBody(step.bodies[i]); }});
  }
  std::vector<const Tensor*> inputs;
  for (const std::string& name : step.node->inputs) {
    inputs.push_back(name.empty() ? nullptr : Find(name));
  }
  const Call call{.node = *step.node,
                  .arithmetic = *node_arithmetics[at],
                  .opset = opset,
                  .inputs = inputs,
                  .outputs = step.outputs,
                  .counters = &counters,
                  .positions = {},
                  .initializers = &step.initializers,
                  .factors = &step.factors};
  return RunOperator(*step.op, call);
}

Result<void> Interpreter::State::Execute(std::size_t at) {
  const Step& step = plan.steps[at];
  QTX_ASSIGN_OR_RETURN(std::vector<Tensor> results, Compute(at));
  for (std::size_t i = 0; i < std::min(results.size(), step.node->outputs.size()); ++i) {
    if (step.node->outputs[i].empty()) continue;
    const std::string& name = step.node->outputs[i];
    const format::ValueInfo* declared = step.declared[i];
    if (declared != nullptr && declared->type) {
      auto shape = CheckShape(declared->type->shape, results[i].dims);
      if (!shape.has_value()) {
        Error error = std::move(shape).error();
        error.clause = ShapeClause(step);
        return At("output[" + std::to_string(i) + "] '" + name + "'", std::move(error));
      }
    }
    if (observer) observer(name, results[i]);
    values[name] = std::move(results[i]);
  }
  for (const std::string& dead : step.last_uses) values.erase(dead);
  return {};
}

Result<std::vector<Tensor>> Interpreter::State::Collect() {
  std::vector<Tensor> outputs;
  for (const format::ValueInfo& output : model.graph.outputs) {
    outputs.push_back(*Find(output.name));
  }
  return outputs;
}

Interpreter::Interpreter(std::unique_ptr<State> state) : state_(std::move(state)) {}
Interpreter::Interpreter(Interpreter&&) noexcept = default;
Interpreter& Interpreter::operator=(Interpreter&&) noexcept = default;
Interpreter::~Interpreter() = default;

Result<Interpreter> Interpreter::Prepare(format::Model model, std::string_view arithmetic,
                                         const NodeArithmetics& by_node,
                                         format::Features features) {
  auto state = std::make_unique<State>();
  QTX_ASSIGN_OR_RETURN(state->arithmetic, FindArithmetic(arithmetic, features));
  QTX_RETURN_IF_ERROR(state->Load(std::move(model), by_node, features));
  return Interpreter(std::move(state));
}

Result<Interpreter> Interpreter::Prepare(format::Model model, const Arithmetic& arithmetic,
                                         format::Features features) {
  auto state = std::make_unique<State>();
  state->own_row = arithmetic;
  state->arithmetic = &*state->own_row;
  QTX_RETURN_IF_ERROR(state->Load(std::move(model), {}, features));
  return Interpreter(std::move(state));
}

Result<std::vector<Tensor>> Interpreter::Run(std::span<const Tensor> inputs) {
  State& state = *state_;
  state.values.clear();
  QTX_RETURN_IF_ERROR(state.Bind(inputs));
  state.body_runs = 0;
  if (auto done = state.RunGraph(0); !done.has_value()) return state.flat->Readable(done.error());
  auto outputs = state.Collect();
  state.values.clear();
  return outputs;
}

Result<Tensor> QuantizeInput(const Tensor& real, const format::TensorType& to,
                             std::string_view arithmetic, format::Features features) {
  QTX_ASSIGN_OR_RETURN(const Arithmetic* recipe, FindArithmetic(arithmetic, features));
  QTX_RETURN_IF_ERROR(CheckShape(to.shape, real.dims));
  QTX_RETURN_IF_ERROR(CheckBytes(real));
  if (!to.quantization || real.elem_type != format::ElementType::kFloat) {
    return Error{ErrorCode::kInvalid, "",
                 "found type " + std::string(format::Name(real.elem_type)) +
                     ", expected FLOAT for a quantized type"};
  }
  Counters counters;
  return Quantized(*recipe, real, {to.elem_type, to.quantization}, &counters);
}

void Interpreter::set_observer(Observer observer) { state_->observer = std::move(observer); }

Counters Interpreter::counters() const { return state_->counters; }

}  // namespace qtx::reference
