#include "float_executor.h"

#include "qtx/format/catalogue.h"
#include "qtx/reference/interpreter.h"
#include "qtx/reference/op.h"
#ifdef QTX_HAS_FLOAT
#include "float/float_model.h"
#endif

namespace qtx::cli {
namespace {

using format::Tensor;

#ifdef QTX_HAS_FLOAT

// Element types of what a node gives, as they follow from its inputs.
std::vector<reference::OutputType> OutputTypes(const format::OpSchema& schema,
                                               const format::Node& node, std::int64_t opset,
                                               std::span<const Tensor* const> inputs) {
  format::Application application{schema, node, opset, {}, {}};
  for (const Tensor* input : inputs) {
    format::ValueFacts& facts = application.inputs.emplace_back();
    if (input != nullptr) facts = {.given = true, .type = input->elem_type};
  }
  std::vector<reference::OutputType> outputs;
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    reference::OutputType& output = outputs.emplace_back();
    if (!node.outputs[i].empty()) output.elem_type = format::TypeOfOutput(application, i);
  }
  return outputs;
}

// REQUIRES: the reference has prepared the model that the node is of.
Result<std::vector<Tensor>> RunByReference(const format::Node& node, std::int64_t opset,
                                           std::span<const Tensor* const> inputs) {
  const reference::Operator* const op = reference::FindOperator(node.domain, node.op_type);
  const format::OpSchema* const schema = format::FindSchema(node.domain, node.op_type);
  if (op == nullptr || schema == nullptr) {
    return Error{ErrorCode::kUnsupported, "", "operator " + node.op_type + " is not known"};
  }
  QTX_ASSIGN_OR_RETURN(const reference::Arithmetic* arithmetic,
                       reference::FindArithmetic("float32"));
  const auto outputs = OutputTypes(*schema, node, opset, inputs);
  reference::Counters counters;
  return reference::RunOperator(*op, {.node = node,
                                      .arithmetic = *arithmetic,
                                      .opset = opset,
                                      .inputs = inputs,
                                      .outputs = outputs,
                                      .counters = &counters});
}

// Threads share the model; its Run is const.
class SharedRun : public calibrate::Executor {
 public:
  explicit SharedRun(const backend::FloatModel& model) : model_(model) {}
  Result<void> Run(std::span<const Tensor> inputs, const Observer& observer) override {
    QTX_RETURN_IF_ERROR(model_.Run(inputs, observer));
    return {};
  }

 private:
  const backend::FloatModel& model_;
};

#endif

}  // namespace

struct FloatExecution::State {
  calibrate::MakeExecutor make;
  std::string name = "reference";
#ifdef QTX_HAS_FLOAT
  std::unique_ptr<backend::FloatModel> model;
#endif
};

FloatExecution::FloatExecution(std::unique_ptr<State> state) : state_(std::move(state)) {}
FloatExecution::FloatExecution(FloatExecution&&) noexcept = default;
FloatExecution& FloatExecution::operator=(FloatExecution&&) noexcept = default;
FloatExecution::~FloatExecution() = default;

Result<FloatExecution> FloatExecution::Prepare(const format::Model& model,
                                               [[maybe_unused]] int threads) {
  // The nodes are checked by the reference whichever backend runs them.
  QTX_RETURN_IF_ERROR(reference::Interpreter::Prepare(model, "float32"));
  auto state = std::make_unique<State>();
  state->make = calibrate::ReferenceExecutor(model);
#ifdef QTX_HAS_FLOAT
  auto fast = backend::FloatModel::Prepare(model, threads, RunByReference);
  if (fast.has_value()) {
    state->name = "float";
    state->model = *std::move(fast);
    state->make = [&shared = *state->model]() -> Result<std::unique_ptr<calibrate::Executor>> {
      return std::unique_ptr<calibrate::Executor>(std::make_unique<SharedRun>(shared));
    };
  } else if (fast.error().code != ErrorCode::kUnsupported) {
    return fast.error();
  }
#endif
  return FloatExecution(std::move(state));
}

calibrate::MakeExecutor FloatExecution::make() const { return state_->make; }
std::string FloatExecution::name() const { return state_->name; }

}  // namespace qtx::cli
