#include "tests/golden/enclosure.h"

#include <algorithm>
#include <cmath>

#include "qtx/reference/interpreter.h"
#include "tests/golden/bounds.h"
#include "tests/golden/numbers.h"

namespace qtx::reference::golden {
namespace {

using format::Tensor;
using Values = std::map<std::string, Enclosed>;
using Tensors = std::map<std::string, Tensor>;

format::ValueInfo Declared(const std::string& name, const Tensor& tensor, bool with_shape) {
  format::ValueInfo info;
  info.name = name;
  info.type.emplace();
  info.type->elem_type = tensor.elem_type;
  info.type->quantization = tensor.quantization;
  if (with_shape) info.type->shape = format::ToShape(tensor.dims);
  return info;
}

std::vector<std::string> DistinctInputs(const format::Node& node) {
  std::vector<std::string> names;
  for (const std::string& name : node.inputs) {
    if (!name.empty() && std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return names;
}

// One node alone, run in arithmetic exact on other tensors.
class NodeModel {
 public:
  NodeModel(const format::Model& model, const format::Node& node, const Values& values) {
    model_.ir_version = model.ir_version;
    model_.opset_imports = model.opset_imports;
    model_.graph.name = "node";
    model_.graph.nodes = {node};
    for (const std::string& name : DistinctInputs(node)) {
      const Tensor& tensor = values.at(name).value;
      model_.graph.inputs.push_back(Declared(name, tensor, true));
    }
    for (const std::string& name : node.outputs) {
      if (name.empty()) continue;
      model_.graph.outputs.push_back(Declared(name, values.at(name).value, false));
    }
  }

  // The results in the order of the node's outputs, as doubles; empty for a type without radius.
  Result<std::vector<std::vector<double>>> Run(const Tensors& tensors) const {
    QTX_ASSIGN_OR_RETURN(Interpreter interpreter, Interpreter::Prepare(model_));
    std::vector<Tensor> inputs;
    for (const format::ValueInfo& input : model_.graph.inputs) {
      inputs.push_back(tensors.at(input.name));
    }
    QTX_ASSIGN_OR_RETURN(const std::vector<Tensor> outputs, interpreter.Run(inputs));
    std::vector<std::vector<double>> results;
    results.reserve(outputs.size());
    for (const Tensor& output : outputs) {
      results.push_back(IsFloating(output.elem_type) ? ToDoubles(output) : std::vector<double>());
    }
    return results;
  }

 private:
  format::Model model_;
};

// Elements of `value` moved by `sign` times their radius.
Tensor Moved(const Enclosed& value, double sign) {
  std::vector<double> moved = ToDoubles(value.value);
  for (std::size_t i = 0; i < moved.size(); ++i) moved[i] += sign * value.radius[i];
  return FromDoubles(value.value, moved, sign < 0 ? Toward::kMinusInfinity : Toward::kPlusInfinity);
}

Tensor Magnitudes(const Enclosed& value, bool with_radius) {
  std::vector<double> magnitudes = ToDoubles(value.value);
  for (std::size_t i = 0; i < magnitudes.size(); ++i) {
    magnitudes[i] =
        std::abs(magnitudes[i]) + (with_radius && !value.radius.empty() ? value.radius[i] : 0);
  }
  return FromDoubles(value.value, magnitudes, Toward::kPlusInfinity);
}

void Widen(const std::vector<double>& results, const std::vector<double>& centre,
           std::vector<double>* radius) {
  for (std::size_t i = 0; i < results.size() && i < radius->size(); ++i) {
    const double distance = std::abs(results[i] - centre[i]);
    if (distance > (*radius)[i]) (*radius)[i] = distance;  // not for NaN
  }
}

class Walk {
 public:
  explicit Walk(const format::Model& model) : model_(model) {}
  Result<std::vector<Enclosed>> Run(const std::vector<Tensor>& inputs);

 private:
  Result<void> Visit(const format::Node& node);
  Result<void> Propagate(const format::Node& node, const NodeModel& alone, Spread spread);
  Result<void> TryCorners(const format::Node& node, const NodeModel& alone);
  Result<void> AddOwn(const format::Node& node, const NodeModel& alone, const Bound& bound,
                      std::size_t i);
  Tensors InputTensors(const format::Node& node) const;
  Tensors InputMagnitudes(const format::Node& node, bool with_radius) const;
  std::vector<std::string> Uncertain(const format::Node& node) const;

  const format::Model& model_;
  Values values_;
};

std::vector<std::string> Walk::Uncertain(const format::Node& node) const {
  std::vector<std::string> names = DistinctInputs(node);
  std::erase_if(names, [this](const std::string& name) { return values_.at(name).radius.empty(); });
  return names;
}

Tensors Walk::InputTensors(const format::Node& node) const {
  Tensors tensors;
  for (const std::string& name : DistinctInputs(node)) tensors[name] = values_.at(name).value;
  return tensors;
}

Tensors Walk::InputMagnitudes(const format::Node& node, bool with_radius) const {
  Tensors tensors = InputTensors(node);
  for (auto& [name, tensor] : tensors) {
    if (IsFloating(tensor.elem_type)) tensor = Magnitudes(values_.at(name), with_radius);
  }
  return tensors;
}

// Each uncertain input at either end; beyond four of them only all at one end, which is enough for
// the variadic operators (sums, maxima, concatenations: rising in every input).
Result<void> Walk::TryCorners(const format::Node& node, const NodeModel& alone) {
  const std::vector<std::string> uncertain = Uncertain(node);
  const bool few = uncertain.size() <= 4;
  const unsigned corners = few ? 1U << uncertain.size() : 2U;
  for (unsigned corner = 0; corner < corners; ++corner) {
    Tensors tensors = InputTensors(node);
    for (std::size_t i = 0; i < uncertain.size(); ++i) {
      const bool high = ((few ? corner >> i : corner) & 1U) != 0;
      tensors[uncertain[i]] = Moved(values_.at(uncertain[i]), high ? 1 : -1);
    }
    QTX_ASSIGN_OR_RETURN(const auto results, alone.Run(tensors));
    std::size_t k = 0;
    for (const std::string& name : node.outputs) {
      if (name.empty()) continue;
      Enclosed& output = values_.at(name);
      if (!results[k].empty()) Widen(results[k], ToDoubles(output.value), &output.radius);
      ++k;
    }
  }
  return {};
}

Result<void> Walk::Propagate(const format::Node& node, const NodeModel& alone, Spread spread) {
  if (Uncertain(node).empty()) return {};
  for (const std::string& name : node.outputs) {
    if (name.empty()) continue;
    Enclosed& output = values_.at(name);
    if (IsFloating(output.value.elem_type)) {
      output.radius.assign(static_cast<std::size_t>(format::ElementCount(output.value)), 0);
    }
  }
  if (spread == Spread::kCorners) return TryCorners(node, alone);
  if (spread == Spread::kUnknown) {
    return Error{ErrorCode::kUnsupported, node.op_type, "no rule says how a deviation spreads"};
  }
  QTX_ASSIGN_OR_RETURN(const auto with, alone.Run(InputMagnitudes(node, true)));
  QTX_ASSIGN_OR_RETURN(const auto without, alone.Run(InputMagnitudes(node, false)));
  std::vector<double>& radius = values_.at(node.outputs[0]).radius;
  // 2^-20 covers the rounding of the two results to binary32.
  for (std::size_t i = 0; i < radius.size(); ++i) {
    radius[i] = with[0][i] - without[0][i] + with[0][i] * 0x1p-20;
  }
  return {};
}

// What the node's own roundings add to the radius of output `i`; `terms` is of the first.
Result<void> Walk::AddOwn(const format::Node& node, const NodeModel& alone, const Bound& bound,
                          std::size_t i) {
  Enclosed& output = values_.at(node.outputs[i]);
  if (!IsFloating(output.value.elem_type)) return {};
  const Units terms = i == 0 ? bound.terms : nullptr;
  if (bound.relative == nullptr && terms == nullptr && bound.absolute == nullptr) return {};
  NodeRun run{node, {}, output.value};
  for (const std::string& name : node.inputs) {
    run.inputs.push_back(name.empty() ? nullptr : &values_.at(name).value);
  }
  const auto units = [&run](Units f) { return f == nullptr ? 0 : f(run); };
  const double u = UnitRoundoff(output.value.elem_type);
  const std::vector<double> centre = ToDoubles(output.value);
  std::vector<double> magnitudes(centre.size(), 0);
  if (terms != nullptr) {
    QTX_ASSIGN_OR_RETURN(const auto results, alone.Run(InputMagnitudes(node, false)));
    magnitudes = results[0];
  }
  if (output.radius.empty()) output.radius.assign(centre.size(), 0);
  const double n = units(terms);
  const double gamma = n * u / (1 - n * u);
  // One more unit for the rounding of `centre` itself, one least number for underflow.
  const double relative = u * (units(bound.relative) + 1);
  const double absolute = u * units(bound.absolute) + LeastPositive(output.value.elem_type);
  for (std::size_t k = 0; k < centre.size(); ++k) {
    const double own = relative * std::abs(centre[k]) + gamma * magnitudes[k] + absolute;
    if (std::isfinite(own)) output.radius[k] += own;
  }
  return {};
}

Result<void> Walk::Visit(const format::Node& node) {
  const Bound& bound = BoundOf(node.op_type);
  const NodeModel alone(model_, node, values_);
  QTX_RETURN_IF_ERROR(Propagate(node, alone, bound.spread));
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (!node.outputs[i].empty()) QTX_RETURN_IF_ERROR(AddOwn(node, alone, bound, i));
  }
  return {};
}

Result<std::vector<Enclosed>> Walk::Run(const std::vector<Tensor>& inputs) {
  QTX_ASSIGN_OR_RETURN(Interpreter interpreter, Interpreter::Prepare(model_));
  for (const format::TensorData& data : model_.graph.initializers) {
    QTX_ASSIGN_OR_RETURN(values_[data.name].value, format::LoadInitializer(model_, data.name));
  }
  std::size_t given = 0;
  for (const format::ValueInfo& input : model_.graph.inputs) {
    if (values_.contains(input.name) || given == inputs.size()) continue;
    values_[input.name].value = inputs[given++];
  }
  interpreter.set_observer(
      [this](const std::string& name, const Tensor& tensor) { values_[name].value = tensor; });
  QTX_RETURN_IF_ERROR(interpreter.Run(inputs));
  for (const format::Node& node : model_.graph.nodes) {
    auto visited = Visit(node);
    if (!visited.has_value()) return std::move(visited).error();
  }
  std::vector<Enclosed> outputs;
  for (const format::ValueInfo& output : model_.graph.outputs) {
    outputs.push_back(values_.at(output.name));
  }
  return outputs;
}

}  // namespace

Result<std::vector<Enclosed>> Enclose(const format::Model& model,
                                      const std::vector<Tensor>& inputs) {
  return Walk(model).Run(inputs);
}

}  // namespace qtx::reference::golden
