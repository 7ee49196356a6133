#include "stablehlo/builder.h"

#include <algorithm>

#include "errors.h"

namespace qtx::convert {

using format::TensorType;
using graph::Draft;

Result<format::Dims> FixedDimsOf(const TensorType& type) {
  const auto dims = type.shape ? format::FixedDims(*type.shape) : std::nullopt;
  if (dims) return *dims;
  return Unsupported("", "unknown dimensions");
}

TensorType WithDims(TensorType type, const format::Dims& dims) {
  type.shape = format::ToShape(dims);
  return type;
}

void StablehloBuilder::NoteType(const std::string& value, const TensorType& type) {
  if (!type.quantization) return;
  ledger_.Kept(value, "scale");
  ledger_.Kept(value, "offset");
}

void StablehloBuilder::AddInput(const MlirArgument& argument) {
  StablehloValue& value = values_.emplace_back();
  value.name = out_.Unique(argument.label.empty() ? argument.name : argument.label);
  value.type = argument.type;
  inputs_.insert(value.name);
  NoteType(value.name, value.type);
  out_.AddInput(value.name, value.type);
  Name(argument.name, &value);
}

Result<StablehloValue*> StablehloBuilder::Find(const MlirOp& op, const std::string& name) {
  const auto found = scopes_.back().find(name);
  if (found != scopes_.back().end()) return found->second;
  return Invalid(Place(op), "found no value '%" + name + "' before");
}

Result<StablehloValue*> StablehloBuilder::Operand(const MlirOp& op, std::size_t i) {
  QTX_ASSIGN_OR_RETURN(StablehloValue * value, Find(op, op.operands[i]));
  if (value->stored)
    return Unsupported(Place(op), "computes with the stored integers of a quantized value, '%" +
                                      op.operands[i] + "'");
  if (value->verdict) return Unsupported(Place(op), "computes with the result of a check");
  if (!op.operand_types.empty() && op.operand_types[i] != value->type) {
    return Invalid(Place(op), "found type " + format::ToString(value->type) + " of '%" +
                                  op.operands[i] + "', expected " +
                                  format::ToString(op.operand_types[i]));
  }
  return value;
}

std::string StablehloBuilder::Use(StablehloValue* value) {
  if (value->name.empty()) value->name = out_.AddConstant(value->label, *value->constant);
  return value->name;
}

const std::string& StablehloBuilder::NameOf(const MlirOp& op) {
  if (op.results.size() == 1 && !op.label.empty()) return op.label;
  return op.results.empty() ? op.name : op.results[0];
}

std::string StablehloBuilder::Ints(const MlirOp& op, const std::vector<std::int64_t>& values) {
  return out_.AddInts(NameOf(op) + "/ints", values);
}

format::Origin StablehloBuilder::OriginOf(const MlirOp& op) {
  format::Origin origin;
  origin.group = std::to_string(op.at);
  origin.framework = "stablehlo";
  origin.op_type = op.name;
  return origin;
}

StablehloValue* StablehloBuilder::Inner(const MlirOp& op, Draft draft, TensorType type) {
  StablehloValue& value = values_.emplace_back();
  const std::string& stem = NameOf(op);
  value.name = out_.Inner(stem + "/" + draft.op_type, type);
  value.type = std::move(type);
  out_.Add(stem, std::move(draft), {value.name}, OriginOf(op));
  return &value;
}

StablehloValue* StablehloBuilder::Constant(format::Tensor tensor) {
  StablehloValue& value = values_.emplace_back();
  value.type.elem_type = tensor.elem_type;
  value.type.shape = format::ToShape(tensor.dims);
  value.type.quantization = tensor.quantization;
  value.constant = std::move(tensor);
  return &value;
}

Result<StablehloValue*> StablehloBuilder::NewResult(const MlirOp& op) {
  if (op.results.size() != 1 || op.result_types.size() != 1)
    return Invalid(Place(op),
                   "found " + std::to_string(op.results.size()) + " results, expected one");
  StablehloValue& value = values_.emplace_back();
  value.type = op.result_types[0];
  if (!scopes_.back().emplace(op.results[0], &value).second)
    return Invalid(Place(op), "'%" + op.results[0] + "' is defined twice");
  return &value;
}

Result<void> StablehloBuilder::Emit(const MlirOp& op, Draft draft) {
  QTX_ASSIGN_OR_RETURN(StablehloValue * value, NewResult(op));
  value->name = out_.Inner(NameOf(op), value->type);
  NoteType(value->name, value->type);
  out_.Add(NameOf(op), std::move(draft), {value->name}, OriginOf(op));
  return {};
}

// The last node's result takes the name that the program has for it.
Result<void> StablehloBuilder::Bind(const MlirOp& op, StablehloValue* value) {
  QTX_RETURN_IF_ERROR(NewResult(op));
  scopes_.back()[op.results[0]] = value;
  format::Graph& graph = out_.graph();
  const bool is_last = !graph.nodes.empty() && !graph.values.empty() && !value->name.empty() &&
                       graph.nodes.back().outputs[0] == value->name &&
                       graph.values.back().name == value->name &&
                       value->name.starts_with(NameOf(op) + "/");
  if (value->constant && value->name.empty() && !op.label.empty()) value->label = op.label;
  if (!is_last || !out_.names().Take(NameOf(op))) return {};
  value->name = NameOf(op);
  graph.nodes.back().outputs[0] = value->name;
  graph.values.back().name = value->name;
  NoteType(value->name, value->type);
  return {};
}

Result<void> StablehloBuilder::AddOutput(const MlirOp& op, StablehloValue* value, bool returned) {
  if (value->stored) {
    ledger_.Changed(value->name.empty() ? op.name : value->name, "bitcast_convert",
                    "the output has the quantized type; its stored integers are the program's");
  }
  const bool again = outputs_.contains(value->name);
  if (again && !(returned && returned_.contains(value->name))) {
    if (returned) returned_.insert(value->name);
    return {};
  }
  std::string name = value->name;
  if (value->constant || again || inputs_.contains(name)) {
    const std::string input = Use(value);
    const std::string stem = again || inputs_.contains(name) ? name + "/output" : "output";
    name = out_.Inner(stem, value->type);
    out_.Add(stem, {"Identity", {input}, {}}, {name}, OriginOf(op));
  }
  outputs_.insert(name);
  if (returned) returned_.insert(name);
  out_.AddOutput(name, value->type);
  return {};
}

Result<format::Graph> StablehloBuilder::Finish() {
  if (outputs_.empty()) return Invalid("", "the function returns and checks nothing");
  return out_.Finish();
}

}  // namespace qtx::convert
