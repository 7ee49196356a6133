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

// Vectors of these kernels begin where TFLite's order of elements says: tflite_half_up.S12, .S13.
bool HangsOnOrder(const TfliteOperator& op) {
  return op.code == schema::BuiltinOperator::QUANTIZE || op.code == schema::BuiltinOperator::ADD;
}

}  // namespace

TfliteBuilder::TfliteBuilder(TfliteFile& file, Ledger& ledger)
    : file_(file),
      ledger_(ledger),
      types_(file.tensors.size()),
      forms_(file.tensors.size()),
      unstacked_(file.outputs.begin(), file.outputs.end()),
      opset_(OpsetFor(file)) {
  // New names must differ from all names in the file.
  for (const TfliteTensor& tensor : file.tensors) out_.names().Take(tensor.name);
  for (const TfliteOperator& op : file.operators) {
    if (op.code != schema::BuiltinOperator::LSTM &&
        op.code != schema::BuiltinOperator::UNIDIRECTIONAL_SEQUENCE_LSTM) {
      unstacked_.insert(op.inputs.begin(), op.inputs.end());
    }
    if (op.code != schema::BuiltinOperator::DEQUANTIZE || op.outputs.size() != 1) continue;
    if (HasInput(op, 0) && tensor(op.inputs[0]).constant() &&
        tensor(op.inputs[0]).type == schema::TensorType::FLOAT16) {
      halves_[op.outputs[0]] = op.inputs[0];
    }
  }
  out_.graph().name = file.name.empty() ? "main" : file.name;
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
    auto type = TypeOf(tensor(index), file_.tensors, ledger_);
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

Result<void> TfliteBuilder::ForgetShape(int index) {
  if (!tensor(index).shapeless) return {};
  QTX_ASSIGN_OR_RETURN(format::TensorType type, Type(index));
  type.shape.reset();
  SetType(index, std::move(type), "shape", "unknown; the file has none");
  return {};
}

Result<void> TfliteBuilder::TakeTypeOfMoved(int x, int y) {
  QTX_ASSIGN_OR_RETURN(format::TensorType from, Type(x));
  QTX_ASSIGN_OR_RETURN(const format::TensorType to, Type(y));
  const bool plain = !from.quantization && to.quantization && to.quantization->axis.empty() &&
                     from.elem_type == format::StorageOf(to.elem_type);
  const std::string& name = tensor(x).name;
  if (!plain || !IsInput(x) || out_.IsRead(name)) return {};
  from.elem_type = to.elem_type;
  from.quantization = to.quantization;
  std::ranges::find(out_.graph().inputs, name, &format::ValueInfo::name)->type = from;
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

// For graph inputs and outputs the form in TFLite's order gets the tensor's name; else the first
// form.
std::string TfliteBuilder::Define(int index, Layout layout, const format::TensorType& own) {
  const bool edge = IsOutput(index);
  std::string name = tensor(index).name;
  if (layout == Layout::kFirst && edge) name = out_.Unique(name + "/nchw");
  if (layout == Layout::kFirst || !edge) out_.Declare(name, InLayout(layout, own));
  FormsOf(index).In(layout) = name;
  return name;
}

Result<std::string> TfliteBuilder::Use(int index, Layout layout) {
  if (layout == Layout::kFirst && tensor(index).dims.size() != 4) {
    return Invalid(Quoted(tensor(index)),
                   "rank " + std::to_string(tensor(index).dims.size()) + ", expected 4");
  }
  if (tensor(index).constant()) {
    return UseConstant(index, layout == Layout::kFirst ? NhwcToNchw() : Permutation{});
  }
  graph::Forms& forms = FormsOf(index);
  if (!forms.In(layout).empty()) return forms.In(layout);
  if (forms.IsNew()) return Invalid(Quoted(tensor(index)), "used before an operator produces it");
  QTX_ASSIGN_OR_RETURN(const format::TensorType own, Type(index));
  const bool edge = layout == Layout::kOwn && IsOutput(index);
  return UseForm(out_, forms, layout, own, tensor(index).name, edge);
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
  std::string name = first ? tensor(index).name : out_.Unique(tensor(index).name + "/permuted");
  if (type.quantization || type.statistics) out_.Declare(name, type);
  out_.graph().initializers.push_back(format::ToTensorData(name, *constant));
  constants_[{index, perm}] = name;
  return name;
}

std::optional<int> TfliteBuilder::HalfOf(int index) const {
  const auto found = halves_.find(index);
  return found == halves_.end() ? std::nullopt : std::optional(found->second);
}

Result<format::TensorType> TfliteBuilder::StateType(int index) {
  const TfliteTensor& variable = tensor(index);
  if (!variable.variable || variable.constant()) {
    return Unsupported(Quoted(variable), "a state that is not a variable");
  }
  if (!FormsOf(index).own.empty()) {
    return Unsupported(Quoted(variable), "a state used by two operators");
  }
  auto type = TypeOf(variable, file_.tensors, ledger_);
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
  State state{variable.name, out_.Unique(variable.name + "/after")};
  out_.graph().initializers.push_back(format::ToTensorData(state.before, zero));
  out_.AddInput(state.before, type);
  states_.emplace_back(state.after, type);
  FormsOf(index).own = state.before;
  ledger_.Changed(variable.name, "is_variable",
                  "an input, 0 unless given, and the output '" + state.after +
                      "'; TFLite keeps it from run to run until it is reset to 0");
  return state;
}

Layout TfliteBuilder::Preferred(int index) const {
  return FormsOf(index).first.empty() ? Layout::kOwn : Layout::kFirst;
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
    format::Tensor wide = graph::IntsTensor(values);
    wide.dims = tensor(index).dims;
    return AddConstant(tensor(index).name + "/int64", wide);
  }
  QTX_ASSIGN_OR_RETURN(const std::string name, Use(index, Layout::kOwn));
  type.elem_type = ElementType::kInt64;
  type.statistics.reset();
  const auto to = static_cast<std::int64_t>(type.elem_type);
  return EmitInner(op, {"Cast", {name}, {Attribute::Int("to", to)}}, name + "/int64",
                   std::move(type));
}

void TfliteBuilder::Append(const TfliteOperator* op, Draft draft, std::vector<std::string> outputs,
                           bool channels_first) {
  const std::string stem = op == nullptr ? outputs[0] : std::to_string(op->index);
  std::optional<format::Origin> origin;
  if (op != nullptr) origin = OriginOf(*op);
  if (channels_first && HangsOnOrder(*op)) {
    origin->attributes.push_back(Attribute::Int("channels_first", 1));
  }
  out_.Add(stem, std::move(draft), std::move(outputs), std::move(origin));
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
  if (!FormsOf(output).IsNew()) {
    return Invalid(Quoted(tensor(output)), "produced twice");
  }
  if (layout == Layout::kFirst && tensor(output).dims.size() != 4) {
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
  const bool channels_first = layout == Layout::kFirst && type.quantization.has_value();
  Append(&op, std::move(draft), {Define(output, layout, type)}, channels_first);
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
  inner.shape = InLayout(layout, own).shape;
  const std::string& name = tensor(output).name;
  Draft bounds{"Relu", {EmitInner(op, std::move(draft), name + "/linear", inner)}, {}};
  if (activation != RELU) {
    const bool six = activation == RELU6;
    bounds.op_type = "Clip";
    bounds.inputs.push_back(AddConstant(name + "/min", graph::FloatTensor(six ? 0.0F : -1.0F)));
    bounds.inputs.push_back(AddConstant(name + "/max", graph::FloatTensor(six ? 6.0F : 1.0F)));
  }
  Append(&op, std::move(bounds), {Define(output, layout, own)});
  return {};
}

Result<void> TfliteBuilder::AddInputs() {
  for (const int index : file_.inputs) {
    if (tensor(index).constant())
      return Unsupported(Quoted(tensor(index)), "a graph input that is a constant");
    if (!FormsOf(index).own.empty())
      return Invalid(Quoted(tensor(index)), "a repeated graph input");
    QTX_ASSIGN_OR_RETURN(const format::TensorType type, Type(index));
    FormsOf(index).own = tensor(index).name;
    out_.AddInput(tensor(index).name, type);
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
    QTX_ASSIGN_OR_RETURN(const std::string name, Use(index, Layout::kOwn));
    QTX_ASSIGN_OR_RETURN(const format::TensorType type, Type(index));
    out_.AddOutput(name, type);
  }
  for (const auto& [name, type] : states_) out_.AddOutput(name, type);
  return out_.Finish();
}

std::vector<TensorForm> TfliteBuilder::Forms() const {
  std::vector<TensorForm> forms;
  for (std::size_t i = 0; i < forms_.size(); ++i) {
    const auto [own, first] = forms_[i];
    if (!own.empty()) forms.push_back({static_cast<int>(i), {}, own});
    if (!first.empty()) forms.push_back({static_cast<int>(i), NhwcToNchw(), first});
  }
  for (const auto& [key, name] : constants_) forms.push_back({key.first, key.second, name});
  return forms;
}

}  // namespace qtx::convert
