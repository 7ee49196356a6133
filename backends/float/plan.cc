#include "float/plan.h"

#include <algorithm>
#include <map>
#include <utility>

#include "qtx/format/scopes.h"

namespace qtx::backend::floats {

using format::ElementType;
using format::Node;
using format::Tensor;

std::string Place(const Node& node) {
  const std::string& name =
      node.name.empty() && !node.outputs.empty() ? node.outputs[0] : node.name;
  return "node '" + name + "' (" + node.op_type + ")";
}

namespace {

const format::Dims kNoDims;

const format::Dims& DimsOf(const Tensor* input) { return input != nullptr ? input->dims : kNoDims; }

bool HoldsIntegers(const Tensor& tensor) {
  return !format::IsQuantized(tensor.elem_type) && format::IsIntegerStorage(tensor.elem_type);
}

}  // namespace

Result<void> ClauseCheck::operator()(Inputs inputs) {
  bool computed = false;  // what clauses may look at beside shapes
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    computed = computed || (inputs[i] != nullptr && !constant_[i] && HoldsIntegers(*inputs[i]));
  }
  const std::lock_guard lock(mutex_);
  const auto as_before = [](const Tensor* input, const format::Dims& dims) {
    return DimsOf(input) == dims;
  };
  if (!computed && std::ranges::equal(inputs, before_, as_before)) return {};
  format::Application application{schema_, node_, opset_, {}, {}};
  for (const Tensor* input : inputs) {
    application.inputs.push_back(input != nullptr ? format::FactsOf(*input, HoldsIntegers(*input))
                                                  : format::ValueFacts());
  }
  for (const std::string& output : node_.outputs) {
    application.outputs.push_back({.given = !output.empty()});
  }
  QTX_RETURN_IF_ERROR(format::CheckApplication(application));
  before_.clear();
  for (const Tensor* input : inputs) before_.push_back(DimsOf(input));
  return {};
}

namespace {

Result<void> RefuseQuantized(const std::vector<format::ValueInfo>& infos) {
  for (const format::ValueInfo& info : infos) {
    if (!info.type || !format::IsQuantized(info.type->elem_type)) continue;
    return Error{ErrorCode::kUnsupported, "value '" + info.name + "'",
                 "of type " + std::string(format::Name(info.type->elem_type)) +
                     ", expected a model without quantized values"};
  }
  return {};
}

template <typename T>
Tensor Vector(ElementType type, std::span<const T> values, bool scalar) {
  Tensor tensor;
  tensor.elem_type = type;
  if (!scalar) tensor.dims = {static_cast<std::int64_t>(values.size())};
  const auto bytes = std::as_bytes(values);
  tensor.bytes.assign(bytes.begin(), bytes.end());
  return tensor;
}

// The tensor of a Constant node; nullptr for strings and sparse tensors.
Result<std::unique_ptr<Tensor>> ConstantOf(const Node& node, const std::string& folder) {
  std::unique_ptr<Tensor> none;
  if (node.op_type != "Constant" || !node.domain.empty() || node.attributes.size() != 1) {
    return none;
  }
  const format::Attribute& a = node.attributes[0];
  if (a.name == "value" && a.t) {
    QTX_ASSIGN_OR_RETURN(Tensor tensor, format::Decode(*a.t, folder));
    return std::make_unique<Tensor>(std::move(tensor));
  }
  const auto make = [](auto type, auto span, bool scalar) {
    return std::make_unique<Tensor>(Vector(type, span, scalar));
  };
  if (a.name == "value_float") return make(ElementType::kFloat, std::span(&a.f, 1), true);
  if (a.name == "value_int") return make(ElementType::kInt64, std::span(&a.i, 1), true);
  if (a.name == "value_floats") return make(ElementType::kFloat, std::span(a.floats), false);
  if (a.name == "value_ints") return make(ElementType::kInt64, std::span(a.ints), false);
  return none;
}

class Planner {
 public:
  Planner(const format::Model& model, const format::CheckedModel& checked, const Kernels& kernels,
          bool has_fallback)
      : model_(model), checked_(checked), kernels_(kernels), has_fallback_(has_fallback) {}

  Result<std::unique_ptr<Plan>> Make() {
    const format::Graph& graph = model_.graph;
    for (const auto* infos : {&graph.inputs, &graph.outputs, &graph.values}) {
      QTX_RETURN_IF_ERROR(RefuseQuantized(*infos));
    }
    plan_->nodes = graph.nodes;
    QTX_RETURN_IF_ERROR(AddValues());
    for (const Node& node : plan_->nodes) QTX_RETURN_IF_ERROR(AddNode(node));
    for (const format::ValueInfo& output : graph.outputs) {
      plan_->output_values.push_back(values_.at(output.name));
    }
    plan_->fused_steps = plan_->steps;
    for (std::size_t i = 0; i < plan_->steps.size(); ++i) Fuse(i);
    std::erase_if(plan_->fused_steps, [](const Step& step) { return step.node == nullptr; });
    FindLastUses(plan_->steps);
    FindLastUses(plan_->fused_steps);
    DropPacked();
    return std::move(plan_);
  }

 private:
  std::int64_t Define(const std::string& name, std::unique_ptr<Tensor> constant) {
    const auto value = std::ssize(plan_->names);
    values_.emplace(name, value);
    plan_->names.push_back(name);
    plan_->constants.push_back(std::move(constant));
    return value;
  }

  Result<void> AddValues() {
    const auto view = format::ModelView::Indexed(model_);
    for (const format::TensorData& data : model_.graph.initializers) {
      QTX_ASSIGN_OR_RETURN(Tensor tensor, format::LoadInitializer(view, data.name));
      Define(data.name, std::make_unique<Tensor>(std::move(tensor)));
    }
    for (const format::ValueInfo& info : model_.graph.inputs) {
      if (values_.contains(info.name)) continue;
      plan_->inputs.push_back(info);
      plan_->input_values.push_back(Define(info.name, nullptr));
    }
    return {};
  }

  Result<void> AddNode(const Node& node) {
    if (format::HasBodies(node))
      return Error{ErrorCode::kUnsupported, Place(node), "its bodies are not run"};
    Step step;
    step.node = &node;
    const bool onnx = node.domain.empty() || node.domain == "ai.onnx";
    step.opset = onnx ? format::OnnxOpset(model_) : model_.OpsetVersion(node.domain);
    std::vector<const Tensor*> constants;
    std::vector<bool> constant_inputs;
    for (const std::string& name : node.inputs) {
      step.inputs.push_back(name.empty() ? -1 : values_.at(name));
      const auto value = static_cast<std::size_t>(step.inputs.back());
      constants.push_back(name.empty() ? nullptr : plan_->constants[value].get());
      constant_inputs.push_back(constants.back() != nullptr);
    }
    auto constant = ConstantOf(node, model_.folder);
    if (!constant.has_value()) return At(Place(node), constant.error());
    const format::Attributes attributes(node, step.opset);
    auto op = MakeOperator({node, step.opset, attributes, constants, kernels_});
    if (!op.has_value()) return At(Place(node), op.error());
    step.constant = *constant != nullptr;
    const bool several = std::ssize(node.outputs) - std::ranges::count(node.outputs, "") > 1;
    step.op = several ? nullptr : op->get();
    if (!step.constant && step.op == nullptr && !has_fallback_) {
      return Error{ErrorCode::kUnsupported, Place(node),
                   several ? "there is no float kernel that gives several outputs"
                           : "there is no float kernel for it"};
    }
    if (step.op != nullptr && !has_fallback_ && !MayTake(*step.op, node)) {
      return Error{ErrorCode::kUnsupported, Place(node), kNoKernelForTypes};
    }
    if (step.op != nullptr && attributes.schema() != nullptr) {
      plan_->checks.push_back(std::make_unique<ClauseCheck>(*attributes.schema(), node, step.opset,
                                                            std::move(constant_inputs)));
      step.check = plan_->checks.back().get();
    }
    plan_->operators.push_back(*std::move(op));
    std::unique_ptr<Tensor> tensor = *std::move(constant);
    for (const std::string& name : node.outputs) {
      step.outputs.push_back(-1);
      if (name.empty()) continue;
      step.outputs.back() = Define(name, std::exchange(tensor, nullptr));
    }
    plan_->steps.push_back(std::move(step));
    return {};
  }

  // False if the types and ranks of the inputs are known, and the operator does not compute them.
  bool MayTake(const Operator& op, const Node& node) const {
    std::vector<Tensor> tensors(node.inputs.size());
    std::vector<const Tensor*> inputs;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      inputs.push_back(node.inputs[i].empty() ? nullptr : &tensors[i]);
      if (node.inputs[i].empty()) continue;
      const format::ValueFacts* facts = checked_.inference().Find(node.inputs[i]);
      if (facts == nullptr || facts->type == ElementType::kUndefined || !facts->dims) return true;
      tensors[i].elem_type = facts->type;
      tensors[i].dims = *facts->dims;
    }
    return op.Takes(inputs);
  }

  // The index of the only step that uses the output of step i; the number of steps if there are
  // none or several.
  std::size_t OnlyUser(std::size_t i) const {
    const std::size_t none = plan_->steps.size();
    const std::int64_t value = plan_->steps[i].outputs.empty() ? -1 : plan_->steps[i].outputs[0];
    if (value < 0 || std::ranges::count(plan_->output_values, value) > 0) return none;
    std::size_t user = none;
    for (std::size_t j = i + 1; j < plan_->steps.size(); ++j) {
      const auto uses = std::ranges::count(plan_->steps[j].inputs, value);
      if (uses == 0) continue;
      if (uses > 1 || user != none || plan_->steps[j].inputs[0] != value) return none;
      user = j;
    }
    return user;
  }

  std::vector<const Tensor*> ConstantsOf(const Step& step) const {
    std::vector<const Tensor*> constants;
    for (const std::int64_t value : step.inputs) {
      constants.push_back(value < 0 ? nullptr
                                    : plan_->constants[static_cast<std::size_t>(value)].get());
    }
    return constants;
  }

  // True if the step is a BatchNormalization of `channels` channels with constant parameters.
  bool FuseNormalization(const Step& step, std::int64_t channels, Fusion& fusion) const {
    if (step.op == nullptr || step.node->op_type != "BatchNormalization") return false;
    const auto constants = ConstantsOf(step);
    for (std::size_t i = 1; i < constants.size(); ++i) {
      if (constants[i] == nullptr || constants[i]->elem_type != ElementType::kFloat) return false;
    }
    fusion.normalization =
        NormalizationOf(format::Attributes(*step.node, step.opset).Float("epsilon"), constants);
    if (std::ssize(fusion.normalization.mean) != channels) return false;
    const Normalization& n = fusion.normalization;
    fusion.epilogue.mean = n.mean.data();
    fusion.epilogue.factor = n.factor.data();
    fusion.epilogue.shift = n.shift.data();
    return true;
  }

  // True if the step is a Relu, or a Clip with constant bounds.
  bool FuseClamp(const Step& step, Fusion& fusion) const {
    if (step.op == nullptr) return false;
    const auto bounds = step.op->ClampOf(ConstantsOf(step));
    if (!bounds) return false;
    fusion.epilogue.clamps = true;
    fusion.epilogue.low = bounds->first;
    fusion.epilogue.high = bounds->second;
    return true;
  }

  void Fuse(std::size_t i) {
    const Operator* op = plan_->steps[i].op;
    if (op == nullptr || !op->Fuses()) return;
    auto fusion = std::make_unique<Fusion>();
    Step& fused = plan_->fused_steps[i];
    const auto take = [&](std::size_t user) {
      fused.outputs = plan_->steps[user].outputs;
      fused.fusion = fusion.get();
      plan_->fused_steps[user].node = nullptr;
    };
    std::size_t user = OnlyUser(i);
    if (user == plan_->steps.size()) return;
    if (FuseNormalization(plan_->steps[user], op->channels(), *fusion)) {
      take(user);
      user = OnlyUser(user);
    }
    if (user != plan_->steps.size() && FuseClamp(plan_->steps[user], *fusion)) take(user);
    if (fused.fusion != nullptr) plan_->fusions.push_back(std::move(fusion));
  }

  void FindLastUses(std::vector<Step>& steps) const {
    std::vector<bool> used(plan_->names.size(), false);
    for (const std::int64_t value : plan_->output_values) {
      used[static_cast<std::size_t>(value)] = true;
    }
    for (std::size_t i = steps.size(); i-- > 0;) {
      for (const auto* values : {&steps[i].inputs, &steps[i].outputs}) {
        for (const std::int64_t value : *values) {
          if (value < 0 || used[static_cast<std::size_t>(value)]) continue;
          used[static_cast<std::size_t>(value)] = true;
          if (plan_->constants[static_cast<std::size_t>(value)] == nullptr) {
            steps[i].last.push_back(value);
          }
        }
      }
    }
  }

  // Frees the elements of constants of which all users have copies.
  void DropPacked() const {
    std::vector<bool> needed(plan_->names.size(), false);
    for (const std::int64_t value : plan_->output_values) {
      needed[static_cast<std::size_t>(value)] = true;
    }
    for (const Step& step : plan_->steps) {
      for (std::size_t i = 0; i < step.inputs.size(); ++i) {
        if (step.inputs[i] < 0 || (step.op != nullptr && step.op->Packed(i))) continue;
        needed[static_cast<std::size_t>(step.inputs[i])] = true;
      }
      for (const std::int64_t value : step.outputs) {
        if (value >= 0) needed[static_cast<std::size_t>(value)] = true;
      }
    }
    for (std::size_t i = 0; i < needed.size(); ++i) {
      if (!needed[i] && plan_->constants[i] != nullptr)
        plan_->constants[i]->bytes = std::vector<std::byte>();  // = {} would keep the memory
    }
  }

  const format::Model& model_;
  const format::CheckedModel& checked_;
  const Kernels& kernels_;
  bool has_fallback_;
  std::unique_ptr<Plan> plan_ = std::make_unique<Plan>();
  std::map<std::string, std::int64_t, std::less<>> values_;
};

}  // namespace

Result<std::unique_ptr<Plan>> MakePlan(const format::Model& model,
                                       const format::CheckedModel& checked, const Kernels& kernels,
                                       bool has_fallback) {
  return Planner(model, checked, kernels, has_fallback).Make();
}

}  // namespace qtx::backend::floats
