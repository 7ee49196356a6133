#include "tflite/builder.h"

#include <algorithm>

#include "errors.h"
#include "tflite/ops.h"
#include "tflite/origin.h"
#include "tflite/types.h"

namespace qtx::convert {
namespace {

using format::Attribute;
using format::ElementType;
using schema::ActivationFunctionType;

std::string Quoted(const TfliteTensor& tensor) { return "tensor '" + tensor.name + "'"; }

// 17 has every operator that is emitted but Gelu, which came with 20.
std::int64_t OpsetFor(const TfliteFile& file) {
  const bool gelu = std::ranges::find(file.operators, schema::BuiltinOperator::GELU,
                                      &TfliteOperator::code) != file.operators.end();
  return gelu ? 20 : 17;
}

}  // namespace

TfliteBuilder::TfliteBuilder(TfliteFile& file, Ledger& ledger)
    : file_(file), ledger_(ledger), types_(file.tensors.size()), opset_(OpsetFor(file)) {
  // New names must differ from all names in the file.
  for (const TfliteTensor& tensor : file.tensors) names_.insert(tensor.name);
  graph_.name = file.name.empty() ? "main" : file.name;
}

bool TfliteBuilder::HasInput(const TfliteOperator& op, std::size_t position) const {
  return position < op.inputs.size() && op.inputs[position] >= 0;
}

Result<int> TfliteBuilder::Input(const TfliteOperator& op, std::size_t position) const {
  if (HasInput(op, position)) return op.inputs[position];
  return Invalid("input[" + std::to_string(position) + "]", "missing");
}

Result<int> TfliteBuilder::Output(const TfliteOperator& op) const {
  if (op.outputs.size() == 1) return op.outputs[0];
  return Invalid("outputs", "found " + std::to_string(op.outputs.size()) + ", expected 1");
}

Result<format::TensorType> TfliteBuilder::Type(int index) {
  auto& known = types_[static_cast<std::size_t>(index)];
  if (!known.has_value()) {
    if (tensor(index).variable) {
      return Unsupported(Quoted(tensor(index)), "a variable, which keeps its value between runs");
    }
    auto type = TypeOf(tensor(index), ledger_);
    if (!type.has_value()) return At(Quoted(tensor(index)), type.error());
    known = *std::move(type);
  }
  return *known;
}

void TfliteBuilder::SetType(int index, format::TensorType type, const std::string& field,
                            const std::string& why) {
  ledger_.Changed(tensor(index).name, field, why);
  types_[static_cast<std::size_t>(index)] = std::move(type);
}

void TfliteBuilder::InferShape(int index, const format::Dims& dims) {
  TfliteTensor& known = file_.tensors[static_cast<std::size_t>(index)];
  if (!known.shapeless || known.dims == dims) return;
  known.dims = dims;
  ledger_.Changed(known.name, "shape",
                  format::ToString(dims) + ", as its operator computes; the file has none");
  auto& type = types_[static_cast<std::size_t>(index)];
  if (type.has_value()) type->shape = format::ToShape(dims);
}

Result<void> TfliteBuilder::TakeTypeOfMoved(int x, int y) {
  QTX_ASSIGN_OR_RETURN(format::TensorType from, Type(x));
  QTX_ASSIGN_OR_RETURN(const format::TensorType to, Type(y));
  const bool plain = !from.quantization && to.quantization && to.quantization->axis.empty() &&
                     from.elem_type == format::StorageOf(to.elem_type);
  const std::string& name = tensor(x).name;
  const bool read = std::ranges::any_of(graph_.nodes, [&](const format::Node& node) {
    return std::ranges::find(node.inputs, name) != node.inputs.end();
  });
  if (!plain || !IsInput(x) || read) return {};
  from.elem_type = to.elem_type;
  from.quantization = to.quantization;
  std::ranges::find(graph_.inputs, name, &format::ValueInfo::name)->type = from;
  SetType(x, std::move(from), "scale", "that of '" + tensor(y).name + "'; the file has none");
  return {};
}

void TfliteBuilder::Note(const std::string& value, const std::string& field,
                         const std::string& why) {
  ledger_.Changed(value, field, why);
}

bool TfliteBuilder::IsInput(int index) const {
  return std::find(file_.inputs.begin(), file_.inputs.end(), index) != file_.inputs.end();
}
bool TfliteBuilder::IsOutput(int index) const {
  return std::find(file_.outputs.begin(), file_.outputs.end(), index) != file_.outputs.end();
}

std::string TfliteBuilder::Unique(std::string name) {
  const std::string stem = name;
  for (int n = 2; !names_.insert(name).second; ++n) name = stem + "#" + std::to_string(n);
  return name;
}

void TfliteBuilder::Declare(const std::string& name, format::TensorType type) {
  format::ValueInfo info;
  info.name = name;
  info.type = std::move(type);
  graph_.values.push_back(std::move(info));
}

std::string TfliteBuilder::Define(int index, Layout layout, const format::TensorType& own) {
  // For graph inputs and outputs the form in TFLite's order gets the tensor's name; else the first
  // form.
  const bool taken =
      values_.contains({index, Layout::kOwn}) || values_.contains({index, Layout::kNchw});
  std::string name = tensor(index).name;
  if (layout == Layout::kNchw) {
    if (taken || IsOutput(index)) name = Unique(name + "/nchw");
    Declare(name, Permute(own, NhwcToNchw()));
  } else {
    if (taken && !IsOutput(index)) name = Unique(name + "/nhwc");
    if (!IsOutput(index)) Declare(name, own);
  }
  values_[{index, layout}] = name;
  return name;
}

std::string TfliteBuilder::Transpose(const std::string& from, int index, Layout to,
                                     const format::TensorType& own) {
  const Permutation& perm = to == Layout::kNchw ? NhwcToNchw() : NchwToNhwc();
  std::string name = Define(index, to, own);
  Append(nullptr, {"Transpose", {from}, {Attribute::Ints("perm", perm)}}, {name});
  return name;
}

Result<std::string> TfliteBuilder::Use(int index, Layout layout) {
  if (layout == Layout::kNchw && tensor(index).dims.size() != 4) {
    return Invalid(Quoted(tensor(index)),
                   "rank " + std::to_string(tensor(index).dims.size()) + ", expected 4");
  }
  if (tensor(index).constant()) {
    return UseConstant(index, layout == Layout::kNchw ? NhwcToNchw() : Permutation{});
  }
  if (const auto found = values_.find({index, layout}); found != values_.end())
    return found->second;
  const Layout other = layout == Layout::kNchw ? Layout::kOwn : Layout::kNchw;
  const auto found = values_.find({index, other});
  if (found == values_.end())
    return Invalid(Quoted(tensor(index)), "used before an operator produces it");
  QTX_ASSIGN_OR_RETURN(const format::TensorType own, Type(index));
  return Transpose(found->second, index, layout, own);
}

Result<std::string> TfliteBuilder::UseConstant(int index, const Permutation& perm) {
  if (!tensor(index).constant()) return Unsupported(Quoted(tensor(index)), "not a constant");
  if (const auto found = constants_.find({index, perm}); found != constants_.end())
    return found->second;
  QTX_ASSIGN_OR_RETURN(format::TensorType type, Type(index));
  auto constant = ConstantOf(tensor(index), type);
  if (!constant.has_value()) return At(Quoted(tensor(index)), constant.error());
  if (!perm.empty()) {
    if (perm.size() != tensor(index).dims.size()) {
      return Invalid(Quoted(tensor(index)), "rank " + std::to_string(tensor(index).dims.size()) +
                                                ", expected " + std::to_string(perm.size()));
    }
    *constant = Permute(*constant, perm);
    type = Permute(std::move(type), perm);
    ledger_.Changed(tensor(index).name, "layout",
                    "constant stored as " + format::ToString(constant->dims) + ", channels first");
  }
  const auto other = constants_.lower_bound({index, {}});
  const bool first = other == constants_.end() || other->first.first != index;
  std::string name = first ? tensor(index).name : Unique(tensor(index).name + "/permuted");
  if (type.quantization || type.statistics) Declare(name, type);
  graph_.initializers.push_back(format::ToTensorData(name, *constant));
  constants_[{index, perm}] = name;
  return name;
}

std::string TfliteBuilder::AddInitializer(const std::string& name, const format::Tensor& tensor) {
  std::string unique = Unique(name);
  graph_.initializers.push_back(format::ToTensorData(unique, tensor));
  return unique;
}

std::string TfliteBuilder::AddConstant(const std::string& name, const format::Tensor& tensor) {
  std::string unique = AddInitializer(name, tensor);
  if (tensor.quantization) {
    Declare(unique, {tensor.elem_type, format::ToShape(tensor.dims), tensor.quantization, {}});
  }
  return unique;
}

Result<format::TensorType> TfliteBuilder::StateType(int index) {
  const TfliteTensor& variable = tensor(index);
  if (!variable.variable || variable.constant()) {
    return Unsupported(Quoted(variable), "a state that is not a variable");
  }
  if (values_.contains({index, Layout::kOwn})) {
    return Unsupported(Quoted(variable), "a state used by two operators");
  }
  auto type = TypeOf(variable, ledger_);
  if (!type.has_value()) return At(Quoted(variable), type.error());
  if (type->quantization && !type->quantization->axis.empty()) {
    return Unsupported(Quoted(variable), "a state with several scales");
  }
  return type;
}

// ONNX's own way to say "0 unless given": an input that has an initializer.
Result<TfliteBuilder::State> TfliteBuilder::AddState(int index, const format::TensorType& type) {
  const TfliteTensor& variable = tensor(index);
  QTX_ASSIGN_OR_RETURN(
      format::Tensor zero,
      format::MakeTensor(type.elem_type, *format::FixedDims(*type.shape), type.quantization));
  if (zero.quantization && !zero.quantization->offset.empty()) {
    const std::vector<std::int64_t> stored(static_cast<std::size_t>(format::ElementCount(zero)),
                                           zero.quantization->offset[0]);
    format::PackIntegers(stored, zero);
  }
  State state{variable.name, Unique(variable.name + "/after")};
  graph_.initializers.push_back(format::ToTensorData(state.before, zero));
  format::ValueInfo info;
  info.type = type;
  info.name = state.before;
  graph_.inputs.push_back(info);
  info.name = state.after;
  states_.push_back(std::move(info));
  values_[{index, Layout::kOwn}] = state.before;
  ledger_.Changed(variable.name, "is_variable",
                  "an input, 0 unless given, and the output '" + state.after +
                      "'; TFLite keeps it from run to run until it is reset to 0");
  return state;
}

Layout TfliteBuilder::Preferred(int index) const {
  return values_.contains({index, Layout::kNchw}) ? Layout::kNchw : Layout::kOwn;
}

Result<std::string> TfliteBuilder::UsePermuted(const TfliteOperator& op, int index,
                                               const Permutation& perm) {
  if (tensor(index).constant()) return UseConstant(index, perm);
  if (perm.empty()) return Use(index, Layout::kOwn);
  if (perm.size() != tensor(index).dims.size()) {
    return Invalid(Quoted(tensor(index)), "rank " + std::to_string(tensor(index).dims.size()) +
                                              ", expected " + std::to_string(perm.size()));
  }
  QTX_ASSIGN_OR_RETURN(const std::string name, Use(index, Layout::kOwn));
  QTX_ASSIGN_OR_RETURN(format::TensorType type, Type(index));
  return EmitInner(op, {"Transpose", {name}, {Attribute::Ints("perm", perm)}}, name + "/permuted",
                   Permute(std::move(type), perm));
}

Result<std::string> TfliteBuilder::UseInt64(const TfliteOperator& op, int index) {
  QTX_ASSIGN_OR_RETURN(format::TensorType type, Type(index));
  if (type.elem_type == ElementType::kInt64) return Use(index, Layout::kOwn);
  if (tensor(index).constant()) {
    QTX_ASSIGN_OR_RETURN(const std::vector<std::int64_t> values, IntegersOf(tensor(index)));
    format::Tensor wide = Int64Vector(values);
    wide.dims = tensor(index).dims;
    return AddInitializer(tensor(index).name + "/int64", wide);
  }
  QTX_ASSIGN_OR_RETURN(const std::string name, Use(index, Layout::kOwn));
  type.elem_type = ElementType::kInt64;
  type.statistics.reset();
  const auto to = static_cast<std::int64_t>(type.elem_type);
  return EmitInner(op, {"Cast", {name}, {Attribute::Int("to", to)}}, name + "/int64",
                   std::move(type));
}

void TfliteBuilder::Append(const TfliteOperator* op, Draft draft,
                           std::vector<std::string> outputs) {
  format::Node node;
  const std::string stem =
      (op == nullptr ? outputs[0] : std::to_string(op->index)) + "/" + draft.op_type;
  node.name = stem;
  for (int n = 2; !node_names_.insert(node.name).second; ++n)
    node.name = stem + "#" + std::to_string(n);
  node.op_type = std::move(draft.op_type);
  node.inputs = std::move(draft.inputs);
  node.outputs = std::move(outputs);
  node.attributes = std::move(draft.attributes);
  if (op != nullptr) node.origin = OriginOf(*op);
  graph_.nodes.push_back(std::move(node));
}

std::string TfliteBuilder::Inner(const std::string& name, format::TensorType type) {
  std::string unique = Unique(name);
  Declare(unique, std::move(type));
  return unique;
}

std::string TfliteBuilder::EmitInner(const TfliteOperator& op, Draft draft, const std::string& name,
                                     format::TensorType type) {
  std::string unique = Inner(name, std::move(type));
  Append(&op, std::move(draft), {unique});
  return unique;
}

Result<void> TfliteBuilder::Fuse(ActivationFunctionType activation, int output) {
  format::TensorType& type = *types_[static_cast<std::size_t>(output)];
  if (!type.quantization || !type.quantization->axis.empty()) {
    return Unsupported(Quoted(tensor(output)), "fused activation on a type with several scales");
  }
  auto narrowed = NarrowTo(activation, type);
  if (!narrowed.has_value()) return At(Quoted(tensor(output)), narrowed.error());
  ledger_.Changed(tensor(output).name, "fused_activation_function",
                  std::string(schema::EnumNameActivationFunctionType(activation)) +
                      " is the range of the stored values");
  return {};
}

Result<void> TfliteBuilder::CheckNew(int output, Layout layout) const {
  if (tensor(output).constant())
    return Invalid(Quoted(tensor(output)), "an output that is a constant");
  if (values_.contains({output, Layout::kOwn}) || values_.contains({output, Layout::kNchw})) {
    return Invalid(Quoted(tensor(output)), "produced twice");
  }
  if (layout == Layout::kNchw && tensor(output).dims.size() != 4) {
    return Invalid(Quoted(tensor(output)),
                   "rank " + std::to_string(tensor(output).dims.size()) + ", expected 4");
  }
  return {};
}

Result<void> TfliteBuilder::EmitAll(const TfliteOperator& op, Draft draft,
                                    std::span<const int> outputs, Layout layout,
                                    const std::vector<std::string>& inner) {
  std::vector<std::string> names;
  for (const int output : outputs) {
    QTX_RETURN_IF_ERROR(CheckNew(output, layout));
    QTX_ASSIGN_OR_RETURN(const format::TensorType type, Type(output));
    names.push_back(Define(output, layout, type));
  }
  names.insert(names.end(), inner.begin(), inner.end());
  Append(&op, std::move(draft), std::move(names));
  return {};
}

Result<void> TfliteBuilder::Emit(const TfliteOperator& op, Draft draft, int output, Layout layout,
                                 ActivationFunctionType activation) {
  QTX_RETURN_IF_ERROR(CheckNew(output, layout));
  QTX_ASSIGN_OR_RETURN(format::TensorType type, Type(output));
  if (activation != ActivationFunctionType::NONE) {
    if (type.elem_type == ElementType::kFloat) {
      return EmitFloatActivation(op, std::move(draft), output, layout, activation);
    }
    QTX_RETURN_IF_ERROR(Fuse(activation, output));
    QTX_ASSIGN_OR_RETURN(type, Type(output));
  }
  Append(&op, std::move(draft), {Define(output, layout, type)});
  return {};
}

Result<void> TfliteBuilder::EmitFloatActivation(const TfliteOperator& op, Draft draft, int output,
                                                Layout layout, ActivationFunctionType activation) {
  using enum ActivationFunctionType;
  if (activation != RELU && activation != RELU6 && activation != RELU_N1_TO_1) {
    return Unsupported(
        Quoted(tensor(output)),
        std::string("fused activation ") + schema::EnumNameActivationFunctionType(activation));
  }
  QTX_ASSIGN_OR_RETURN(const format::TensorType own, Type(output));
  format::TensorType inner;
  inner.elem_type = ElementType::kFloat;
  inner.shape = layout == Layout::kNchw ? Permute(own, NhwcToNchw()).shape : own.shape;
  const std::string& name = tensor(output).name;
  Draft bounds{"Relu", {EmitInner(op, std::move(draft), name + "/linear", inner)}, {}};
  if (activation != RELU) {
    const bool six = activation == RELU6;
    bounds.op_type = "Clip";
    bounds.inputs.push_back(AddInitializer(name + "/min", FloatScalar(six ? 0.0F : -1.0F)));
    bounds.inputs.push_back(AddInitializer(name + "/max", FloatScalar(six ? 6.0F : 1.0F)));
  }
  Append(&op, std::move(bounds), {Define(output, layout, own)});
  return {};
}

Result<void> TfliteBuilder::AddInputs() {
  for (const int index : file_.inputs) {
    if (tensor(index).constant())
      return Unsupported(Quoted(tensor(index)), "a graph input that is a constant");
    if (values_.contains({index, Layout::kOwn}))
      return Invalid(Quoted(tensor(index)), "a repeated graph input");
    format::ValueInfo info;
    QTX_ASSIGN_OR_RETURN(info.type, Type(index));
    info.name = tensor(index).name;
    values_[{index, Layout::kOwn}] = info.name;
    graph_.inputs.push_back(std::move(info));
  }
  return {};
}

Result<format::Graph> TfliteBuilder::Finish() {
  std::set<int> seen;
  for (const int index : file_.outputs) {
    if (!seen.insert(index).second)
      return Unsupported(Quoted(tensor(index)), "a repeated graph output");
    if (tensor(index).constant() || IsInput(index)) {
      return Unsupported(Quoted(tensor(index)), "a graph output that no operator produces");
    }
    format::ValueInfo info;
    QTX_ASSIGN_OR_RETURN(info.name, Use(index, Layout::kOwn));
    QTX_ASSIGN_OR_RETURN(info.type, Type(index));
    graph_.outputs.push_back(std::move(info));
  }
  std::ranges::move(states_, std::back_inserter(graph_.outputs));
  return std::move(graph_);
}

std::vector<TensorForm> TfliteBuilder::Forms() const {
  std::vector<TensorForm> forms;
  for (const auto& [key, name] : values_) {
    forms.push_back({key.first, key.second == Layout::kNchw ? NhwcToNchw() : Permutation{}, name});
  }
  for (const auto& [key, name] : constants_) forms.push_back({key.first, key.second, name});
  return forms;
}

}  // namespace qtx::convert
