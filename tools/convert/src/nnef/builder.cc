#include "nnef/builder.h"

#include <algorithm>

#include "errors.h"
#include "nnef/quant.h"

namespace qtx::convert::nnef {

using format::Dims;
using format::ElementType;
using format::TensorType;
using graph::Draft;

namespace {

TensorType PlainType(ElementType type, const Dims& dims) {
  TensorType plain;
  plain.elem_type = type;
  plain.shape = format::ToShape(dims);
  return plain;
}

Result<format::Tensor> Literal(const Call& call, const Value& value) {
  using enum Value::Kind;
  if (value.kind == kBool) {
    format::Tensor tensor{ElementType::kBool, {}, std::nullopt, {}};
    tensor.bytes = {std::byte{value.number != 0}};
    return tensor;
  }
  if (value.kind == kNumber) return graph::FloatTensor(static_cast<float>(value.number));
  return Invalid(call.text().Place(), "found a list or string, expected a tensor or a number");
}

}  // namespace

GraphTensor* Builder::Constant(format::Tensor tensor, std::string label) {
  GraphTensor& value = tensors_.emplace_back();
  value.label = std::move(label);
  value.type = PlainType(tensor.elem_type, tensor.dims);
  value.type.quantization = tensor.quantization;
  value.dims = tensor.dims;
  value.constant = std::move(tensor);
  return &value;
}

Result<GraphTensor*> Builder::OfValue(const Call& call, const Value& value) {
  if (value.kind == Value::Kind::kName) {
    const auto found = values_.find(value.text);
    if (found != values_.end()) return found->second;
    return Invalid(call.text().Place(),
                   "found no tensor '" + value.text.substr(0, 64) + "' before");
  }
  QTX_ASSIGN_OR_RETURN(format::Tensor literal, Literal(call, value));
  return Constant(std::move(literal), "literal");
}

Result<GraphTensor*> Builder::Operand(const Call& call, std::string_view parameter) {
  const Value* value = call.Find(parameter);
  if (value == nullptr) return call.Wrong(parameter, "a tensor");
  return OfValue(call, *value);
}

Result<std::vector<GraphTensor*>> Builder::Operands(const Call& call, std::string_view parameter) {
  const Value* value = call.Find(parameter);
  if (value == nullptr || !value->IsList() || value->items.empty())
    return call.Wrong(parameter, "a list of tensors");
  std::vector<GraphTensor*> tensors;
  for (const Value& item : value->items) {
    QTX_ASSIGN_OR_RETURN(GraphTensor * tensor, OfValue(call, item));
    tensors.push_back(tensor);
  }
  return tensors;
}

std::string Builder::Use(GraphTensor* tensor) {
  if (tensor->name.empty()) tensor->name = out_.AddConstant(tensor->label, *tensor->constant);
  return tensor->name;
}

std::string Builder::Ints(const Call& call, const std::vector<std::int64_t>& values) {
  return out_.AddInts(call.text().op + "/ints", values);
}

std::string Builder::Scalar(const Call& call, float value) {
  return out_.AddConstant(call.text().op + "/scalar", graph::FloatTensor(value));
}

format::Origin Builder::OriginOf(const Call& call) const {
  format::Origin origin;
  origin.group = std::to_string(call.text().line);
  if (call.text().number > 0) origin.group += "." + std::to_string(call.text().number);
  origin.framework = "nnef";
  origin.op_type = call.text().op;
  return origin;
}

GraphTensor* Builder::Node(const Call& call, const std::string& name, Draft draft,
                           GraphTensor tensor) {
  tensor.name = out_.Inner(name, tensor.type);
  out_.Add(tensor.name, std::move(draft), {tensor.name}, OriginOf(call));
  return &tensors_.emplace_back(std::move(tensor));
}

GraphTensor* Builder::Inner(const Call& call, Draft draft, Dims dims, ElementType type) {
  GraphTensor tensor;
  tensor.type = PlainType(type, dims);
  tensor.dims = std::move(dims);
  const std::string stem = ResultName(call, 0).value_or(call.text().op);
  const std::string name = stem + "/" + draft.op_type;
  return Node(call, name, std::move(draft), std::move(tensor));
}

GraphTensor* Builder::Inner(const Call& call, Draft draft, Dims dims, const GraphTensor& from) {
  GraphTensor tensor;
  tensor.type = from.type;
  tensor.type.shape = format::ToShape(dims);
  tensor.dims = std::move(dims);
  const std::string name = ResultName(call, 0).value_or(call.text().op) + "/" + draft.op_type;
  return Node(call, name, std::move(draft), std::move(tensor));
}

GraphTensor* Builder::Reals(const Call& call, GraphTensor* tensor) {
  if (!tensor->type.quantization) return tensor;
  const auto to = static_cast<std::int64_t>(ElementType::kFloat);
  return Inner(call, {"Cast", {Use(tensor)}, {format::Attribute::Int("to", to)}}, tensor->dims);
}

GraphTensor* Builder::Movable(const Call& call, GraphTensor* tensor) {
  const bool along = tensor->type.quantization && !tensor->type.quantization->axis.empty();
  return along ? Reals(call, tensor) : tensor;
}

Result<GraphTensor*> Builder::Reshaped(const Call& call, GraphTensor* tensor, const Dims& dims) {
  if (tensor->dims == dims) return tensor;
  auto count = format::ElementCount(dims);
  if (!count.has_value()) return At(call.text().Place(), count.error());
  if (*count != *format::ElementCount(tensor->dims))
    return Invalid(call.text().Place(), "found shape " + format::ToString(tensor->dims) +
                                            ", expected the elements of " + format::ToString(dims));
  if (!tensor->constant ||
      (tensor->type.quantization && !tensor->type.quantization->axis.empty())) {
    GraphTensor* from = Movable(call, tensor);
    return Inner(call, {"Reshape", {Use(from), Ints(call, dims)}, {}}, dims, *from);
  }
  format::Tensor constant = *tensor->constant;
  constant.dims = dims;
  return Constant(std::move(constant), tensor->label);
}

std::size_t Builder::ResultCount(const Call& call) const {
  std::size_t count = 0;
  for (const Value& result : call.text().results)
    count += result.IsList() ? result.items.size() : 1;
  return count;
}

Result<std::string> Builder::ResultName(const Call& call, std::size_t i) const {
  for (const Value& result : call.text().results) {
    const std::size_t count = result.IsList() ? result.items.size() : 1;
    if (i >= count) {
      i -= count;
      continue;
    }
    const Value& name = result.IsList() ? result.items[i] : result;
    if (name.kind == Value::Kind::kName) return name.text;
    break;
  }
  return Invalid(call.text().Place(), "found fewer results than it gives, or one without a name");
}

Result<std::optional<TensorType>> Builder::Quantized(const std::string& name, const Dims& dims,
                                                     bool stored) {
  const auto entry = quant_.find(name);
  if (entry == quant_.end()) return std::optional<TensorType>();
  auto type = TypeOf(entry->second, dims, stored, ledger_);
  if (!type.has_value()) return At(std::string(kQuantFile), type.error());
  return type;
}

Result<void> Builder::Define(const Call& call, const std::string& name, GraphTensor* tensor) {
  if (values_.emplace(name, tensor).second) return {};
  return Invalid(call.text().Place(), "'" + name + "' is defined twice");
}

Result<void> Builder::Emit(const Call& call, Draft draft, Dims dims, ElementType type,
                           std::size_t i) {
  QTX_ASSIGN_OR_RETURN(const std::string name, ResultName(call, i));
  auto count = format::ElementCount(dims);
  if (!count.has_value()) return At(call.text().Place(), count.error());
  GraphTensor tensor;
  tensor.type = PlainType(type, dims);
  if (type == ElementType::kFloat) {
    QTX_ASSIGN_OR_RETURN(auto quantized, Quantized(name, dims, false));
    if (quantized) tensor.type = *std::move(quantized);
  }
  tensor.dims = std::move(dims);
  return Define(call, name, Node(call, name, std::move(draft), std::move(tensor)));
}

Result<void> Builder::EmitMove(const Call& call, Draft draft, Dims dims, const GraphTensor& from,
                               std::size_t i) {
  if (!from.type.quantization) {
    return Emit(call, std::move(draft), std::move(dims), from.type.elem_type, i);
  }
  QTX_ASSIGN_OR_RETURN(const std::string name, ResultName(call, i));
  auto count = format::ElementCount(dims);
  if (!count.has_value()) return At(call.text().Place(), count.error());
  QTX_ASSIGN_OR_RETURN(const auto quantized, Quantized(name, dims, false));
  GraphTensor tensor;
  tensor.type = from.type;
  tensor.type.shape = format::ToShape(dims);
  tensor.dims = std::move(dims);
  if (!quantized || *quantized == tensor.type)
    return Define(call, name, Node(call, name, std::move(draft), std::move(tensor)));
  const std::string op = draft.op_type;
  GraphTensor* moved = Node(call, name + "/" + op, std::move(draft), std::move(tensor));
  const auto to = static_cast<std::int64_t>(quantized->elem_type);
  return Emit(call, {"Cast", {Use(moved)}, {format::Attribute::Int("to", to)}}, moved->dims,
              ElementType::kFloat, i);
}

Result<void> Builder::Bind(const Call& call, GraphTensor* tensor, std::size_t i) {
  QTX_ASSIGN_OR_RETURN(const std::string name, ResultName(call, i));
  std::optional<TensorType> quantized;
  if (tensor->type.elem_type == ElementType::kFloat || tensor->type.quantization) {
    QTX_ASSIGN_OR_RETURN(quantized, Quantized(name, tensor->dims, false));
  }
  if (!quantized || *quantized == tensor->type) return Define(call, name, tensor);
  const auto to = static_cast<std::int64_t>(quantized->elem_type);
  GraphTensor cast;
  cast.type = *quantized;
  cast.dims = tensor->dims;
  return Define(call, name,
                Node(call, name, {"Cast", {Use(tensor)}, {format::Attribute::Int("to", to)}},
                     std::move(cast)));
}

Result<void> Builder::AddInput(const Call& call, const std::string& name, GraphTensor tensor) {
  tensor.name = out_.Unique(name);
  inputs_.insert(tensor.name);
  out_.AddInput(tensor.name, tensor.type);
  return Define(call, name, &tensors_.emplace_back(std::move(tensor)));
}

Result<void> Builder::AddOutput(const std::string& name) {
  const auto found = values_.find(name);
  if (found == values_.end())
    return Invalid("graph", "found no tensor '" + name.substr(0, 64) + "', an output");
  GraphTensor* tensor = found->second;
  std::string output = tensor->name;
  const bool produced = !tensor->constant && !inputs_.contains(output);
  if (!produced || !outputs_.insert(output).second) {
    const std::string from = Use(tensor);
    output = out_.Inner(produced || from == name ? name + "/output" : name, tensor->type);
    out_.Add(output, {"Identity", {from}, {}}, {output});
    outputs_.insert(output);
  }
  out_.AddOutput(output, tensor->type);
  return {};
}

Result<format::Graph> Builder::Finish() {
  if (outputs_.empty()) return Invalid("graph", "found no outputs");
  return out_.Finish();
}

}  // namespace qtx::convert::nnef
