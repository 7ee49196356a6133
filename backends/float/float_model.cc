#include "float/float_model.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "float/plan.h"
#include "float/workers.h"
#include "qtx/backend/options.h"
#include "qtx/format/check.h"

namespace qtx::backend {

using floats::Step;
using format::Tensor;

struct FloatModel::State {
  std::unique_ptr<floats::Plan> plan;
  const floats::Kernels& kernels;
  Fallback fallback;
  floats::Workers workers;
  floats::Buffers buffers;
};

namespace {

// Checks inputs against their declarations. All dimensions of one name have the same size.
class InputCheck {
 public:
  Result<void> Check(const format::ValueInfo& info, const Tensor& input) {
    const std::string place = "input '" + info.name + "'";
    QTX_ASSIGN_OR_RETURN(const std::int64_t count, format::ElementCount(input.dims));
    QTX_ASSIGN_OR_RETURN(const std::int64_t size, format::PackedBytes(input.elem_type, count));
    if (std::ssize(input.bytes) != size)
      return Error{ErrorCode::kInvalid, place, "of another size"};
    if (!info.type) return {};
    if (input.elem_type != info.type->elem_type) {
      return Error{ErrorCode::kInvalid, place,
                   "found " + std::string(format::Name(input.elem_type)) + ", expected " +
                       std::string(format::Name(info.type->elem_type))};
    }
    if (info.type->shape && !Fits(*info.type->shape, input.dims)) {
      return Error{ErrorCode::kInvalid, place,
                   "found " + format::ToString(input.dims) + ", expected " +
                       format::ToString(*info.type->shape)};
    }
    return {};
  }

 private:
  bool Fits(const format::Shape& shape, const format::Dims& dims) {
    if (shape.size() != dims.size()) return false;
    for (std::size_t i = 0; i < dims.size(); ++i) {
      if (shape[i].value && *shape[i].value != dims[i]) return false;
      if (shape[i].value || shape[i].symbol.empty()) continue;
      if (symbols_.try_emplace(shape[i].symbol, dims[i]).first->second != dims[i]) return false;
    }
    return true;
  }

  std::map<std::string, std::int64_t> symbols_;
};

// The tensors that exist during one run.
class Values {
 public:
  Values(const floats::Plan& plan, floats::Buffers& buffers)
      : buffers_(buffers), there_(plan.names.size()), own_(plan.names.size()) {
    for (std::size_t i = 0; i < there_.size(); ++i) there_[i] = plan.constants[i].get();
  }
  ~Values() {
    for (std::size_t i = 0; i < own_.size(); ++i) Free(static_cast<std::int64_t>(i));
  }
  Values(const Values&) = delete;
  Values& operator=(const Values&) = delete;

  const Tensor* Get(std::int64_t value) const {
    return value < 0 ? nullptr : there_[static_cast<std::size_t>(value)];
  }
  void Borrow(std::int64_t value, const Tensor& tensor) {
    there_[static_cast<std::size_t>(value)] = &tensor;
  }
  void Own(std::int64_t value, Tensor tensor) {
    const auto i = static_cast<std::size_t>(value);
    there_[i] = &own_[i].emplace(std::move(tensor));
  }
  void Free(std::int64_t value) {
    const auto i = static_cast<std::size_t>(value);
    if (!own_[i]) return;
    buffers_.Give(std::move(own_[i]->bytes));
    own_[i].reset();
    there_[i] = nullptr;
  }
  /// Moved out, unless `copied`.
  Tensor Output(std::int64_t value, bool copied) {
    const auto i = static_cast<std::size_t>(value);
    if (copied || !own_[i]) return *there_[i];
    buffers_.Leave(own_[i]->bytes);
    Tensor tensor = *std::move(own_[i]);
    own_[i].reset();
    return tensor;
  }

 private:
  floats::Buffers& buffers_;
  std::vector<const Tensor*> there_;
  std::vector<std::optional<Tensor>> own_;
};

Result<std::vector<Tensor>> CallFallback(const FloatModel::Fallback& fallback, const Step& step,
                                         floats::Inputs inputs) {
  if (!fallback) {
    return floats::Unsupported(floats::kNoKernelForTypes);
  }
  QTX_ASSIGN_OR_RETURN(std::vector<Tensor> outputs, fallback(*step.node, step.opset, inputs));
  if (outputs.size() != step.outputs.size()) {
    return Error{ErrorCode::kInvalid, "",
                 "the fallback gave " + std::to_string(outputs.size()) + " outputs, expected " +
                     std::to_string(step.outputs.size())};
  }
  return outputs;
}

Result<std::vector<Tensor>> Compute(const floats::Context& context,
                                    const FloatModel::Fallback& fallback, const Step& step,
                                    floats::Inputs inputs) {
  if (step.op == nullptr || !step.op->Takes(inputs)) return CallFallback(fallback, step, inputs);
  if (step.check != nullptr) QTX_RETURN_IF_ERROR((*step.check)(inputs));
  auto output = step.fusion == nullptr ? step.op->Run(context, inputs)
                                       : step.op->RunFused(context, inputs, step.fusion->epilogue);
  if (!output.has_value()) return std::move(output).error();
  std::vector<Tensor> outputs;
  outputs.push_back(*std::move(output));
  outputs.resize(step.outputs.size());  // others are absent
  return outputs;
}

Result<void> CheckInputs(const floats::Plan& plan, std::span<const Tensor> inputs) {
  if (inputs.size() != plan.inputs.size()) {
    return Error{ErrorCode::kInvalid, "inputs",
                 "found " + std::to_string(inputs.size()) + ", expected " +
                     std::to_string(plan.inputs.size())};
  }
  InputCheck check;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    QTX_RETURN_IF_ERROR(check.Check(plan.inputs[i], inputs[i]));
  }
  return {};
}

Result<void> RunStep(const floats::Context& context, const FloatModel::Fallback& fallback,
                     const Step& step, Values& values) {
  std::vector<const Tensor*> inputs;
  for (const std::int64_t value : step.inputs) inputs.push_back(values.Get(value));
  auto outputs = Compute(context, fallback, step, inputs);
  if (!outputs.has_value()) return At(floats::Place(*step.node), outputs.error());
  for (std::size_t i = 0; i < step.outputs.size(); ++i) {
    if (step.outputs[i] >= 0) values.Own(step.outputs[i], std::move((*outputs)[i]));
  }
  return {};
}

}  // namespace

FloatModel::FloatModel(std::unique_ptr<State> state) : state_(std::move(state)) {}
FloatModel::~FloatModel() = default;

std::vector<std::string> FloatKernels() {
  std::vector<std::string> names;
  for (const floats::Kernels* kernels : floats::AvailableKernels()) {
    names.emplace_back(kernels->name);
  }
  return names;
}

Result<std::unique_ptr<FloatModel>> FloatModel::Prepare(const format::Model& model, int threads,
                                                        Fallback fallback,
                                                        std::string_view kernels) {
  const auto available = floats::AvailableKernels();
  const auto found = std::ranges::find_if(
      available, [&](const auto* table) { return kernels.empty() || table->name == kernels; });
  if (found == available.end()) {
    std::string names;
    for (const std::string& name : FloatKernels()) names += (names.empty() ? "" : ", ") + name;
    return Options::Refuse("kernels", kernels, names);
  }
  QTX_ASSIGN_OR_RETURN(const format::CheckedModel checked, format::CheckFirst(model));
  QTX_ASSIGN_OR_RETURN(auto plan,
                       floats::MakePlan(model, checked, **found, static_cast<bool>(fallback)));
  std::unique_ptr<State> state(
      new State{std::move(plan), **found, std::move(fallback), floats::Workers(threads), {}});
  return std::unique_ptr<FloatModel>(new FloatModel(std::move(state)));
}

Result<std::vector<Tensor>> FloatModel::Run(std::span<const Tensor> inputs) {
  return Run(inputs, Observer());
}

Result<std::vector<Tensor>> FloatModel::Run(std::span<const Tensor> inputs,
                                            const Observer& observer) const {
  const floats::Plan& plan = *state_->plan;
  QTX_RETURN_IF_ERROR(CheckInputs(plan, inputs));
  Values values(plan, state_->buffers);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    values.Borrow(plan.input_values[i], inputs[i]);
    if (observer) observer(plan.inputs[i].name, inputs[i]);
  }
  const floats::Context context{state_->kernels, state_->workers, state_->buffers};
  for (const Step& step : observer ? plan.steps : plan.fused_steps) {
    if (!step.constant) {
      QTX_RETURN_IF_ERROR(RunStep(context, state_->fallback, step, values));
    }
    for (const std::int64_t value : step.outputs) {
      if (!observer || value < 0) continue;
      observer(plan.names[static_cast<std::size_t>(value)], *values.Get(value));
    }
    for (const std::int64_t value : step.last) values.Free(value);
  }
  std::vector<Tensor> outputs;
  for (auto value = plan.output_values.begin(); value != plan.output_values.end(); ++value) {
    const bool again =
        std::find(value + 1, plan.output_values.end(), *value) != plan.output_values.end();
    outputs.push_back(values.Output(*value, again));
  }
  return outputs;
}

}  // namespace qtx::backend
