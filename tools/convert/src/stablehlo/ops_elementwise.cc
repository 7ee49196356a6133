// Operators on elements: one node where ONNX has the operator, else the fewest that round once.
#include <algorithm>
#include <array>
#include <utility>

#include "errors.h"
#include "stablehlo/steps.h"

namespace qtx::convert {
namespace {

using format::Attribute;
using format::ElementType;
using format::TensorType;

bool IsPlainInteger(ElementType type) {
  return !format::IsQuantized(type) && format::IsIntegerStorage(type);
}

// The type that ONNX has for operators on integers of 2 and 4 bits: the result is taken modulo the
// program's again.
ElementType ComputedIn(ElementType type, OnIntegers on_integers) {
  const bool is_signed = format::StorageRange(type).min < 0;
  if (on_integers == OnIntegers::kWide && format::BitWidth(type) < 32) return ElementType::kInt32;
  if (format::BitWidth(type) >= 8) return type;
  return is_signed ? ElementType::kInt8 : ElementType::kUint8;
}

Result<void> CheckIntegers(const StablehloRow& row, ElementType type) {
  const bool is_signed = format::StorageRange(type).min < 0;
  const bool fits =
      row.on_integers == OnIntegers::kAll ||
      (row.on_integers == OnIntegers::kSigned && is_signed) ||
      (row.on_integers == OnIntegers::kWide && (is_signed || format::BitWidth(type) < 32));
  if (fits) return {};
  return Unsupported("", "on " + std::string(format::Name(type)) + ", which " +
                             std::string(row.onnx) + " of ONNX has not");
}

Result<void> EmitOverIntegers(StablehloBuilder& builder, const MlirOp& op, const StablehloRow& row,
                              std::vector<StablehloValue*> operands, graph::Draft draft) {
  const ElementType type = operands[0]->type.elem_type;
  if (row.onnx == "Neg" && format::StorageRange(type).min == 0) {  // 0 - x, modulo 2^n
    operands.insert(operands.begin(), builder.Constant(*format::MakeTensor(type, {})));
    draft.op_type = "Sub";
  } else {
    QTX_RETURN_IF_ERROR(CheckIntegers(row, type));
  }
  const ElementType computed = ComputedIn(type, row.on_integers);
  TensorType inner;
  for (StablehloValue* operand : operands) {
    StablehloValue* cast = CastTo(builder, op, operand, computed);
    draft.inputs.push_back(builder.Use(cast));
    inner = cast->type;  // the last operand's: that of the result but for the element type
  }
  if (computed == type) return builder.Emit(op, std::move(draft));
  StablehloValue* result = builder.Inner(op, std::move(draft), std::move(inner));
  return builder.Bind(op, CastTo(builder, op, result, type));
}

// A constant that has `value` in each float type.
StablehloValue* RealConstant(StablehloBuilder& builder, ElementType type, double value) {
  format::Tensor tensor = *format::MakeTensor(type, {});
  if (type == ElementType::kDouble) {
    tensor.As<double>()[0] = value;
  } else if (type == ElementType::kFloat) {
    tensor.As<float>()[0] = static_cast<float>(value);
  } else {
    tensor.As<std::uint16_t>()[0] =
        static_cast<std::uint16_t>(format::EncodeSmallFloat(type, value));
  }
  return builder.Constant(std::move(tensor));
}

Result<TensorType> ResultType(StablehloBuilder& builder, const MlirOp& op) {
  if (op.result_types.size() == 1) return op.result_types[0];
  return Invalid(builder.Place(op), "expected one result");
}

Attribute To(ElementType type) { return Attribute::Int("to", static_cast<std::int64_t>(type)); }

Result<std::vector<StablehloValue*>> OperandsOf(StablehloBuilder& builder, const MlirOp& op) {
  std::vector<StablehloValue*> operands;
  for (std::size_t i = 0; i < op.operands.size(); ++i) {
    QTX_ASSIGN_OR_RETURN(StablehloValue * operand, builder.Operand(op, i));
    operands.push_back(operand);
  }
  return operands;
}

graph::Draft DraftOf(StablehloBuilder& builder, std::string op_type,
                     const std::vector<StablehloValue*>& operands) {
  graph::Draft draft{std::move(op_type), {}, {}};
  for (StablehloValue* operand : operands) draft.inputs.push_back(builder.Use(operand));
  return draft;
}

}  // namespace

Result<void> ConvertElementwise(StablehloBuilder& builder, const MlirOp& op,
                                const StablehloRow& row) {
  QTX_ASSIGN_OR_RETURN(const auto operands, OperandsOf(builder, op));
  const ElementType type = operands[0]->type.elem_type;
  if (IsPlainInteger(type))
    return EmitOverIntegers(builder, op, row, operands, {std::string(row.onnx), {}, {}});
  const std::string_view name = type == ElementType::kBool ? row.on_bool : row.onnx;
  if (name.empty() || (type != ElementType::kBool && row.onnx.starts_with("Bitwise")))
    return Unsupported("", "on " + std::string(format::Name(type)));
  return builder.Emit(op, DraftOf(builder, std::string(name), operands));
}

Result<void> ConvertRemainder(StablehloBuilder& builder, const MlirOp& op,
                              const StablehloRow& row) {
  QTX_ASSIGN_OR_RETURN(const auto operands, OperandsOf(builder, op));
  graph::Draft draft{"Mod", {}, {Attribute::Int("fmod", 1)}};
  if (IsPlainInteger(operands[0]->type.elem_type))
    return EmitOverIntegers(builder, op, row, operands, std::move(draft));
  draft.inputs = DraftOf(builder, "", operands).inputs;
  return builder.Emit(op, std::move(draft));
}

Result<void> ConvertCast(StablehloBuilder& builder, const MlirOp& op, const StablehloRow&) {
  QTX_ASSIGN_OR_RETURN(StablehloValue * x, builder.Operand(op, 0));
  QTX_ASSIGN_OR_RETURN(const TensorType type, ResultType(builder, op));
  const bool quantizes = op.name == "stablehlo.uniform_quantize";
  if (quantizes && !type.quantization) return Invalid("", "found a result without quantization");
  if (op.name == "stablehlo.uniform_dequantize" && !x->type.quantization)
    return Invalid("", "found an operand without quantization");
  return builder.Emit(op, {"Cast", {builder.Use(x)}, {To(type.elem_type)}});
}

Result<void> ConvertCompare(StablehloBuilder& builder, const MlirOp& op, const StablehloRow&) {
  static constexpr std::array<std::pair<std::string_view, const char*>, 6> kDirections = {{
      {"EQ", "Equal"},
      {"NE", "Equal"},
      {"LT", "Less"},
      {"LE", "LessOrEqual"},
      {"GT", "Greater"},
      {"GE", "GreaterOrEqual"},
  }};
  std::vector<std::string> words = op.words;
  for (const char* name : {"comparison_direction", "compare_type"}) {
    const MlirAttribute* attribute = op.Find({name});
    if (attribute == nullptr) continue;
    for (const MlirAttribute& word : attribute->list) words.push_back(word.text);
  }
  if (std::ranges::find(words, "TOTALORDER") != words.end())
    return Unsupported("", "a total order of floats");
  QTX_ASSIGN_OR_RETURN(auto operands, OperandsOf(builder, op));
  for (const auto& [word, op_type] : kDirections) {
    if (std::ranges::find(words, word) == words.end()) continue;
    const ElementType type = operands[0]->type.elem_type;
    if (type == ElementType::kBool && std::string_view(op_type) != "Equal")
      return Unsupported("", "an order of i1");
    if (IsPlainInteger(type)) {
      const ElementType computed = ComputedIn(type, OnIntegers::kAll);
      for (StablehloValue*& operand : operands) operand = CastTo(builder, op, operand, computed);
    }
    if (word != "NE") return builder.Emit(op, DraftOf(builder, op_type, operands));
    QTX_ASSIGN_OR_RETURN(const TensorType result, ResultType(builder, op));
    StablehloValue* equal = builder.Inner(op, DraftOf(builder, "Equal", operands), result);
    return builder.Emit(op, {"Not", {equal->name}, {}});
  }
  return Invalid("", "found no direction, expected one of EQ, NE, GE, GT, LE and LT");
}

// minimum(maximum(x, min), max), in which nothing is rounded between.
Result<void> ConvertClamp(StablehloBuilder& builder, const MlirOp& op, const StablehloRow&) {
  QTX_ASSIGN_OR_RETURN(auto operands, OperandsOf(builder, op));
  const ElementType type = operands[1]->type.elem_type;
  if (type == ElementType::kBool) return Unsupported("", "on BOOL");
  if (IsPlainInteger(type)) {
    const ElementType computed = ComputedIn(type, OnIntegers::kAll);
    for (StablehloValue*& operand : operands) operand = CastTo(builder, op, operand, computed);
  }
  TensorType between = operands[1]->type;
  const bool equal = between.quantization == operands[0]->type.quantization;
  if (!equal) between = RealOf(between);
  StablehloValue* raised =
      builder.Inner(op, DraftOf(builder, "Max", {operands[1], operands[0]}), std::move(between));
  graph::Draft draft = DraftOf(builder, "Min", {raised, operands[2]});
  if (operands[1]->type.elem_type == type) return builder.Emit(op, std::move(draft));
  StablehloValue* result = builder.Inner(op, std::move(draft), operands[1]->type);
  return builder.Bind(op, CastTo(builder, op, result, type));
}

Result<void> ConvertSelect(StablehloBuilder& builder, const MlirOp& op, const StablehloRow&) {
  QTX_ASSIGN_OR_RETURN(const auto operands, OperandsOf(builder, op));
  return builder.Emit(op, DraftOf(builder, "Where", operands));
}

// sign(x) * (floor(|x|) + (|x| - floor(|x|) >= 1/2)): every step is exact in floats.
Result<void> ConvertRoundAfz(StablehloBuilder& builder, const MlirOp& op, const StablehloRow&) {
  QTX_ASSIGN_OR_RETURN(StablehloValue * x, builder.Operand(op, 0));
  x = AsReal(builder, op, x);
  const TensorType real = x->type;
  const auto node = [&](const char* op_type, std::vector<StablehloValue*> operands,
                        ElementType type) {
    TensorType result = real;
    result.elem_type = type;
    return builder.Inner(op, DraftOf(builder, op_type, operands), result);
  };
  const ElementType type = real.elem_type;
  StablehloValue* magnitude = node("Abs", {x}, type);
  StablehloValue* whole = node("Floor", {magnitude}, type);
  StablehloValue* rest = node("Sub", {magnitude, whole}, type);
  StablehloValue* up =
      node("GreaterOrEqual", {rest, RealConstant(builder, type, 0.5)}, ElementType::kBool);
  StablehloValue* rounded = node("Add", {whole, CastTo(builder, op, up, type)}, type);
  StablehloValue* sign = node("Sign", {x}, type);
  return builder.Emit(op, DraftOf(builder, "Mul", {sign, rounded}));
}

// log(1 + x) and exp(x) - 1, where 1 + x and exp(x) keep the bits of a small x in DOUBLE.
Result<void> ConvertInDouble(StablehloBuilder& builder, const MlirOp& op, const StablehloRow&) {
  QTX_ASSIGN_OR_RETURN(StablehloValue * x, builder.Operand(op, 0));
  QTX_ASSIGN_OR_RETURN(const TensorType type, ResultType(builder, op));
  if (x->type.elem_type == ElementType::kDouble) return Unsupported("", "on f64");
  builder.ledger().Changed(op.results.empty() ? op.name : op.results[0], "precision",
                           "computed in DOUBLE, within 2^-52 of the exact value");
  StablehloValue* wide = CastTo(builder, op, AsReal(builder, op, x), ElementType::kDouble);
  StablehloValue* one = RealConstant(builder, ElementType::kDouble, 1);
  StablehloValue* result = nullptr;
  if (op.name == "stablehlo.log_plus_one") {
    StablehloValue* sum = builder.Inner(op, DraftOf(builder, "Add", {wide, one}), wide->type);
    result = builder.Inner(op, DraftOf(builder, "Log", {sum}), wide->type);
  } else {
    StablehloValue* power = builder.Inner(op, DraftOf(builder, "Exp", {wide}), wide->type);
    result = builder.Inner(op, DraftOf(builder, "Sub", {power, one}), wide->type);
  }
  return builder.Emit(op, {"Cast", {result->name}, {To(type.elem_type)}});
}

Result<void> ConvertRsqrt(StablehloBuilder& builder, const MlirOp& op, const StablehloRow&) {
  QTX_ASSIGN_OR_RETURN(StablehloValue * x, builder.Operand(op, 0));
  StablehloValue* root = builder.Inner(op, {"Sqrt", {builder.Use(x)}, {}}, RealOf(x->type));
  return builder.Emit(op, {"Reciprocal", {root->name}, {}});
}

Result<void> ConvertIsFinite(StablehloBuilder& builder, const MlirOp& op, const StablehloRow&) {
  QTX_ASSIGN_OR_RETURN(StablehloValue * x, builder.Operand(op, 0));
  QTX_ASSIGN_OR_RETURN(const TensorType type, ResultType(builder, op));
  StablehloValue* infinite = builder.Inner(op, {"IsInf", {builder.Use(x)}, {}}, type);
  StablehloValue* nan = builder.Inner(op, {"IsNaN", {builder.Use(x)}, {}}, type);
  StablehloValue* either = builder.Inner(op, {"Or", {infinite->name, nan->name}, {}}, type);
  return builder.Emit(op, {"Not", {either->name}, {}});
}

}  // namespace qtx::convert
