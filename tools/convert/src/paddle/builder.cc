#include "paddle/builder.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace qtx::convert::paddle {
namespace {

using format::ElementType;

format::Attribute OriginAttribute(const std::string& name, const Attribute& attribute) {
  const auto one = [&attribute](const auto& values) {
    return !attribute.list && values.size() == 1;
  };
  if (one(attribute.strings)) return format::Attribute::String(name, attribute.strings[0]);
  if (one(attribute.floats)) return format::Attribute::Float(name, attribute.floats[0]);
  if (one(attribute.ints)) return format::Attribute::Int(name, attribute.ints[0]);
  if (!attribute.floats.empty()) return format::Attribute::Floats(name, attribute.floats);
  if (attribute.strings.empty()) return format::Attribute::Ints(name, attribute.ints);
  format::Attribute strings;
  strings.name = name;
  strings.type = format::AttributeType::kStrings;
  strings.strings = attribute.strings;
  return strings;
}

}  // namespace

format::Tensor TensorOf(ElementType type, format::Dims dims, const void* data) {
  auto tensor = format::MakeTensor(type, std::move(dims)).value();
  if (!tensor.bytes.empty()) std::memcpy(tensor.bytes.data(), data, tensor.bytes.size());
  return tensor;
}

format::Statistics MaxAbs(const std::vector<float>& max_abs, std::vector<std::int64_t> axis,
                          std::string source) {
  format::Statistics statistics;
  for (const float value : max_abs) {
    statistics.min.push_back(-static_cast<double>(value));
    statistics.max.push_back(static_cast<double>(value));
  }
  statistics.axis = std::move(axis);
  statistics.source = std::move(source);
  return statistics;
}

Builder::Builder(const Program& program, const Params& params, Ledger& ledger)
    : program_(program), params_(params), ledger_(ledger) {
  for (const Op& op : program.ops) {
    if (!op.type.starts_with("fake_") || !op.type.ends_with("dequantize_max_abs")) continue;
    const auto x = op.inputs.find("X");
    if (x != op.inputs.end() && !x->second.empty()) dequantizers_.emplace(x->second[0], &op);
  }
}

const Op* Builder::DequantizerOf(const std::string& var) const {
  const auto found = dequantizers_.find(var);
  return found == dequantizers_.end() ? nullptr : found->second;
}

void Builder::Begin(const Op& op) {
  ++op_;
  origin_ = {};
  origin_.group = "paddle/" + std::to_string(op_);
  origin_.framework = "paddle";
  origin_.op_type = op.type;
  for (const auto& [name, attribute] : op.attributes) {
    // op_callstack, op_role etc. concern the Python program, not the model.
    if (!name.starts_with("op_")) origin_.attributes.push_back(OriginAttribute(name, attribute));
  }
}

bool Builder::Has(const Op& op, std::string_view parameter) const {
  const auto found = op.inputs.find(parameter);
  return found != op.inputs.end() && !found->second.empty();
}

Result<std::string> Builder::VarOf(const Op& op, std::string_view parameter, std::size_t i) const {
  const auto found = op.inputs.find(parameter);
  if (found != op.inputs.end() && i < found->second.size()) return found->second[i];
  return Error{ErrorCode::kInvalid, op.Name(), "has no input " + std::string(parameter)};
}

Result<Var> Builder::Declared(const Op& op, std::string_view parameter, bool output) const {
  const auto& list = output ? op.outputs : op.inputs;
  const auto found = list.find(parameter);
  if (found != list.end() && !found->second.empty()) {
    const auto var = program_.vars.find(found->second[0]);
    if (var != program_.vars.end() && var->second.tensor) return var->second;
  }
  return Error{ErrorCode::kInvalid, op.Name(),
               std::string(parameter) + " is not a declared tensor"};
}

Result<std::int64_t> Builder::Rank(const Op& op, std::string_view parameter) const {
  QTX_ASSIGN_OR_RETURN(const Var var, Declared(op, parameter));
  return static_cast<std::int64_t>(var.shape.size());
}

const format::Tensor* Builder::Param(const Op& op, std::string_view parameter,
                                     std::size_t i) const {
  const auto var = VarOf(op, parameter, i);
  if (!var.has_value() || current_.contains(*var)) {
    // An initializer under its own name is still the parameter.
    if (!var.has_value() || current_.at(*var) != *var) return nullptr;
  }
  const auto found = params_.find(*var);
  return found == params_.end() ? nullptr : &found->second;
}

void Builder::Declare(const std::string& value, const Var& var) {
  format::TensorType& type = types_[value];
  type.elem_type = var.elem_type;
  type.shape = var.shape;
}

std::string Builder::Define(const std::string& var) {
  std::string value = out_.Unique(var);
  const auto declared = program_.vars.find(var);
  if (declared != program_.vars.end() && declared->second.tensor) Declare(value, declared->second);
  current_[var] = value;
  return value;
}

std::string Builder::Initializer(const std::string& var) {
  std::string name = Constant(var, params_.at(var));
  current_[var] = name;
  return name;
}

Result<std::string> Builder::In(const Op& op, std::string_view parameter, std::size_t i) {
  QTX_ASSIGN_OR_RETURN(const std::string var, VarOf(op, parameter, i));
  if (const auto found = current_.find(var); found != current_.end()) return found->second;
  if (params_.contains(var)) return Initializer(var);
  return Error{
      ErrorCode::kInvalid, op.Name(),
      std::string(parameter) + " '" + var + "' is neither a parameter nor computed by an operator"};
}

Result<std::vector<std::string>> Builder::AllIn(const Op& op, std::string_view parameter) {
  std::vector<std::string> values;
  const auto found = op.inputs.find(parameter);
  const std::size_t count = found == op.inputs.end() ? 0 : found->second.size();
  for (std::size_t i = 0; i < count; ++i) {
    QTX_ASSIGN_OR_RETURN(std::string value, In(op, parameter, i));
    values.push_back(std::move(value));
  }
  if (!values.empty()) return values;
  return Error{ErrorCode::kInvalid, op.Name(), "has no input " + std::string(parameter)};
}

Result<std::string> Builder::Out(const Op& op, std::string_view parameter, std::size_t i) {
  const auto found = op.outputs.find(parameter);
  if (found != op.outputs.end() && i < found->second.size() && !found->second[i].empty())
    return Define(found->second[i]);
  return Error{ErrorCode::kInvalid, op.Name(), "has no output " + std::string(parameter)};
}

void Builder::Node(std::string op_type, std::vector<std::string> inputs,
                   std::vector<std::string> outputs, std::vector<format::Attribute> attributes) {
  const std::string stem = outputs[0];
  out_.Add(stem, {std::move(op_type), std::move(inputs), std::move(attributes)}, std::move(outputs),
           origin_);
}

std::string Builder::Constant(const std::string& name, const format::Tensor& tensor) {
  std::string unique = out_.Unique(name);
  out_.graph().initializers.push_back(format::ToTensorData(unique, tensor));
  initializers_.insert(unique);
  return unique;
}

const format::TensorType* Builder::Known(const std::string& value) const {
  const auto found = types_.find(value);
  return found == types_.end() ? nullptr : &found->second;
}

void Builder::SettleUnits() {
  for (const auto& [var, units] : pending_) units_[Current(var)] = units;
  pending_.clear();
}

Result<void> Builder::AddInput(const std::string& var) {
  const auto declared = program_.vars.find(var);
  if (declared == program_.vars.end() || !declared->second.tensor)
    return Error{ErrorCode::kInvalid, "feed '" + var + "'", "is no declared tensor"};
  out_.graph().inputs.emplace_back().name = Define(var);
  return {};
}

void Builder::AddOutput(const std::string& var, std::int64_t column) {
  const std::string value = Current(var);
  // A graph output must be unique and computed.
  if (initializers_.contains(value) || !fetched_.insert(value).second) {
    const std::string copy = Define(var);
    Node("Identity", {value}, {copy});
    outputs_[column] = copy;
  } else {
    outputs_[column] = value;
  }
}

std::string Builder::Current(const std::string& var) const {
  const auto found = current_.find(var);
  return found == current_.end() ? var : found->second;
}

void Builder::AnnotateThreshold(const std::string& var, float threshold) {
  const auto found = current_.find(var);
  if (found == current_.end() || !std::isfinite(threshold)) return;
  const auto type = types_.find(found->second);
  if (type == types_.end() || type->second.elem_type != ElementType::kFloat ||
      type->second.statistics)
    return;
  type->second.statistics = MaxAbs({threshold}, {}, "paddle out_threshold, a moving average");
  ledger_.Kept(found->second, "out_threshold");
}

format::Graph Builder::Finish() {
  format::Graph& graph = out_.graph();
  graph.name = "paddle";
  for (const auto& [column, value] : outputs_) graph.outputs.emplace_back().name = value;
  for (auto* list : {&graph.inputs, &graph.outputs}) {
    for (format::ValueInfo& info : *list) {
      if (types_.contains(info.name)) info.type = types_.at(info.name);
    }
  }
  for (auto& [name, type] : types_) {
    if (type.elem_type != ElementType::kUndefined) out_.Declare(name, std::move(type));
  }
  return out_.Finish();
}

}  // namespace qtx::convert::paddle
