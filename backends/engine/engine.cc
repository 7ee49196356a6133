#include "engine/engine.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "engine/nested_model.h"
#include "engine/operator_table.h"
#include "engine/ops/conversion.h"
#include "engine/plan.h"
#include "qtx/backend/half_reals.h"
#include "qtx/backend/options.h"
#include "qtx/format/check.h"
#include "qtx/format/levels.h"

namespace qtx::backend::engine {
namespace {

using format::Tensor;

// Prepares node `i` in the arithmetic asked for, or in exact if the results are the same.
StepResult PrepareNodeAs(std::size_t i, const format::CheckedModel& checked, Workspace& workspace,
                         const Preparation& how) {
  NodePlan plan(workspace.model().graph.nodes[i], workspace, how.bias_factor);
  QTX_RETURN_IF_ERROR(plan.Check(checked, i));
  const auto arithmetic = ArithmeticFor(plan, how.arithmetic);
  if (!arithmetic.has_value()) {
    return plan.Unsupported("arithmetic '" + std::string(NameOf(how.arithmetic)) + "'");
  }
  plan.SetArithmetic(*arithmetic);
  return PrepareNode(plan, how.path);
}

class Prepared : public PreparedModel {
 public:
  // The workspace refers to the model, so both live here.
  Prepared(const format::Model& model, const Kernels& kernels, int threads)
      : model_(model),
        threads_(std::make_unique<Threads>(threads)),
        workspace_(model_, kernels, *threads_) {}
  Prepared(const format::Model& model, const Kernels& kernels, Threads& threads)
      : model_(model), workspace_(model_, kernels, threads) {}

  /// REQUIRES: `checked` is the proof of this model.
  Result<void> Plan(const format::CheckedModel& checked, const Preparation& how) {
    for (const format::ValueInfo& input : model_.graph.inputs) {
      if (workspace_.view().FindInitializer(input.name) != nullptr) continue;
      auto value = DefineInput(input);
      if (!value.has_value()) return At("input '" + input.name + "'", value.error());
      inputs_.push_back(*value);
    }
    for (std::size_t i = 0; i < model_.graph.nodes.size(); ++i) {
      workspace_.NextNode();
      QTX_ASSIGN_OR_RETURN(std::unique_ptr<Step> step, PrepareNodeAs(i, checked, workspace_, how));
      if (step != nullptr) workspace_.Append(std::move(step));
    }
    workspace_.NextNode();
    for (const format::ValueInfo& output : model_.graph.outputs) {
      QTX_ASSIGN_OR_RETURN(Value * value, workspace_.Find(output.name));
      outputs_.push_back(value);
    }
    workspace_.Place();
    return {};
  }

  const format::Dims& OutputDims() const { return outputs_.front()->tensor.dims; }

  Result<std::vector<Tensor>> Run(std::span<const Tensor> inputs) override {
    QTX_RETURN_IF_ERROR(TakeAll(inputs));
    QTX_RETURN_IF_ERROR(workspace_.Run());
    std::vector<Tensor> outputs;
    for (const Value* value : outputs_) outputs.push_back(value->tensor);
    return outputs;
  }

  Result<std::vector<double>> Measure(std::span<const Tensor> inputs, int repetitions) override {
    QTX_RETURN_IF_ERROR(TakeAll(inputs));
    QTX_RETURN_IF_ERROR(workspace_.Run());
    std::vector<double> seconds;
    for (int i = 0; i < repetitions; ++i) {
      const auto begin = std::chrono::steady_clock::now();
      QTX_RETURN_IF_ERROR(workspace_.RunInside());
      seconds.push_back(
          std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    return seconds;
  }

  Result<std::vector<NodeTime>> Profile(std::span<const Tensor> inputs, int repetitions) override {
    QTX_RETURN_IF_ERROR(TakeAll(inputs));
    QTX_RETURN_IF_ERROR(workspace_.Run());
    return workspace_.Profile(repetitions);
  }

 private:
  Result<void> TakeAll(std::span<const Tensor> inputs) {
    if (inputs.size() != inputs_.size()) {
      return Error{ErrorCode::kInvalid, "inputs",
                   "found " + std::to_string(inputs.size()) + ", expected " +
                       std::to_string(inputs_.size())};
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      auto taken = Take(inputs[i], *inputs_[i]);
      if (!taken.has_value()) return At("input '" + inputs_[i]->name + "'", taken.error());
    }
    return {};
  }

  Result<Value*> DefineInput(const format::ValueInfo& input) {
    if (!input.type.has_value() || !input.type->shape.has_value()) {
      return Error{ErrorCode::kUnsupported, "", "no tensor type with a shape"};
    }
    const auto dims = format::FixedDims(*input.type->shape);
    if (!dims.has_value()) {
      return Error{ErrorCode::kUnsupported, "",
                   "shape " + format::ToString(*input.type->shape) + " is not fixed"};
    }
    Tensor like;
    like.elem_type = input.type->elem_type;
    if (format::IsQuantized(like.elem_type)) {
      QTX_ASSIGN_OR_RETURN(like.quantization, format::Resolve(workspace_.view(), *input.type));
      if (!format::HasIntegerForm(*like.quantization)) {  // of a default that may be replaced
        return Error{ErrorCode::kUnsupported, "",
                     "an input with a base, a code book or a scale of 0 or below"};
      }
    }
    return workspace_.Define(input.name, std::move(like), *dims);
  }

  // Copies an input's elements. A FLOAT tensor for a quantized input is quantized with the input's
  // parameters.
  static Result<void> Take(const Tensor& given, Value& value) {
    Tensor& own = value.tensor;
    if (given.dims != own.dims) {
      return Error{ErrorCode::kInvalid, "",
                   "found shape " + format::ToString(given.dims) + ", expected " +
                       format::ToString(own.dims)};
    }
    if (given.elem_type == own.elem_type) {
      const bool same =
          !own.quantization.has_value() ||
          (given.quantization.has_value() && given.quantization->scale == own.quantization->scale &&
           given.quantization->offset == own.quantization->offset);
      if (!same) return Error{ErrorCode::kInvalid, "", "quantized otherwise than declared"};
    } else if (given.elem_type != format::ElementType::kFloat) {
      return Error{ErrorCode::kInvalid, "",
                   "found " + std::string(format::Name(given.elem_type)) + ", expected " +
                       std::string(format::Name(own.elem_type))};
    }
    if (given.elem_type == own.elem_type) {
      own.bytes = given.bytes;
      return {};
    }
    QTX_ASSIGN_OR_RETURN(const Converter converter, Converter::Make(given, own));
    converter.Run(given.bytes, own.bytes);
    return {};
  }

  format::Model model_;
  std::unique_ptr<Threads> threads_;  // null: those of the model around this one
  Workspace workspace_;
  std::vector<Value*> inputs_, outputs_;
};

class EngineBackend : public Backend {
 public:
  EngineBackend(std::string name, const Kernels& kernels, int threads)
      : name_(std::move(name)), kernels_(kernels), threads_(threads) {}

  Result<Description> Describe() override {
    const auto names = ArithmeticNames();
    return Description{name_, kVersion, {names.begin(), names.end()}, std::string(kernels_.name)};
  }

  Result<std::unique_ptr<PreparedModel>> Prepare(const format::Model& model,
                                                 std::string_view arithmetic) override {
    const auto found =
        arithmetic.empty() ? std::optional(Arithmetic::kExact) : FindArithmetic(arithmetic);
    if (!found.has_value()) {
      std::string names;
      for (const std::string_view name : ArithmeticNames()) names += " " + std::string(name);
      return Error{ErrorCode::kUnsupported, "arithmetic",
                   "'" + std::string(arithmetic) + "', this backend has" + names};
    }
    return PrepareModel(model, kernels_, {.threads = threads_, .arithmetic = *found});
  }

  bool RunsAtOnce() const override { return true; }

 private:
  static constexpr const char* kVersion = QTX_VERSION;
  std::string name_;
  const Kernels& kernels_;
  int threads_;
};

}  // namespace

Result<std::unique_ptr<PreparedModel>> PrepareModel(const format::Model& model,
                                                    const Kernels& kernels,
                                                    const Preparation& how) {
  if (how.arithmetic != Arithmetic::kExact) QTX_RETURN_IF_ERROR(DeclineHalfReals(model.graph));
  QTX_ASSIGN_OR_RETURN(const format::CheckedModel checked, format::CheckFirst(model));
  auto prepared = std::make_unique<Prepared>(model, kernels, how.threads);
  QTX_RETURN_IF_ERROR(prepared->Plan(checked, how));
  return prepared;
}

Result<NestedModel> PrepareNested(const format::Model& model, const Kernels& kernels,
                                  Threads& threads, std::optional<float> bias_factor) {
  QTX_ASSIGN_OR_RETURN(const format::CheckedModel checked, format::CheckFirst(model));
  auto prepared = std::make_unique<Prepared>(model, kernels, threads);
  QTX_RETURN_IF_ERROR(prepared->Plan(checked, {.bias_factor = bias_factor}));
  format::Dims dims = prepared->OutputDims();
  return NestedModel{std::move(prepared), std::move(dims)};
}

Result<std::unique_ptr<Backend>> MakeBackend(std::string name, std::string_view options,
                                             std::span<const Kernels* const> available) {
  QTX_ASSIGN_OR_RETURN(const Options given, Options::Parse(options, {"kernels", "threads"}));
  QTX_ASSIGN_OR_RETURN(const int threads, given.Threads());
  const std::string wanted = given.Text("kernels", available.front()->name);
  std::string names;
  for (const Kernels* kernels : available) {
    if (kernels->name == wanted) {
      return std::make_unique<EngineBackend>(std::move(name), *kernels, threads);
    }
    names += (names.empty() ? "" : ", ") + std::string(kernels->name);
  }
  return Options::Refuse("kernels", wanted, names + " (what this processor can run)");
}

}  // namespace qtx::backend::engine
