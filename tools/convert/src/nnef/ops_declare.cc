// external, variable, constant, and casts.
#include <algorithm>
#include <cmath>

#include "errors.h"
#include "nnef/dat.h"
#include "nnef/ops.h"

namespace qtx::convert::nnef {
namespace {

using format::Dims;
using format::ElementType;

ElementType TypeOfName(const std::string& name) {
  if (name == "integer") return ElementType::kInt64;
  return name == "logical" ? ElementType::kBool : ElementType::kFloat;
}

Result<Dims> ShapeOf(const Call& call) {
  if (call.Find("shape") == nullptr) return call.Wrong("shape", "a list of integers");
  QTX_ASSIGN_OR_RETURN(const Dims dims, call.Ints("shape"));
  auto count = format::ElementCount(dims);
  if (!count.has_value()) return At(call.text().Place() + ": shape", count.error());
  return dims;
}

format::Tensor Packed(ElementType type, const Dims& dims, const std::vector<std::int64_t>& values,
                      std::optional<format::Quantization> q = std::nullopt) {
  format::Tensor tensor{type, dims, std::move(q), {}};
  const auto bits = static_cast<std::size_t>(format::BitWidth(format::StorageOf(type)));
  tensor.bytes.resize((values.size() * bits + 7) / 8);
  format::PackIntegers(values, tensor);
  return tensor;
}

// The stored integers of a binary, as a tensor of the type that graph.quant says.
Result<format::Tensor> Stored(const Dat& dat, const format::TensorType& type) {
  QTX_ASSIGN_OR_RETURN(const auto values, IntegersOf(dat));
  const format::IntegerRange range = format::StoredRange(type.elem_type, *type.quantization);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] < range.min || values[i] > range.max)
      return Invalid("item " + std::to_string(i), "found " + std::to_string(values[i]) +
                                                      ", expected " + std::to_string(range.min) +
                                                      " to " + std::to_string(range.max) +
                                                      " of its entry in graph.quant");
  }
  return Packed(type.elem_type, dat.dims, values, type.quantization);
}

// A binary without an entry of integers in graph.quant.
Result<format::Tensor> Plain(const Dat& dat, ElementType type, const std::string& name,
                             Ledger& ledger) {
  if (dat.item == ItemType::kFloat && type == ElementType::kFloat) {
    bool rounded = false;
    format::Tensor tensor = FloatsOf(dat, rounded);
    if (dat.bits != 32)
      ledger.Changed(
          name, "bits per item",
          std::to_string(dat.bits) + " as FLOAT" + (rounded ? ", rounded" : ", exactly"));
    return tensor;
  }
  if (dat.item == ItemType::kFloat)
    return Invalid("byte 48", "found floats, expected integers or booleans");
  QTX_ASSIGN_OR_RETURN(auto values, IntegersOf(dat));
  if (type == ElementType::kBool) {
    for (std::int64_t& value : values) value = value != 0 ? 1 : 0;
  }
  if (type != ElementType::kFloat) return Packed(type, dat.dims, values);
  format::Tensor tensor{ElementType::kFloat, dat.dims, std::nullopt, {}};
  tensor.bytes.resize(values.size() * sizeof(float));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto real = static_cast<float>(values[i]);
    if (static_cast<double>(real) != static_cast<double>(values[i]) || std::abs(real) > 0x1p53F)
      return Unsupported("item " + std::to_string(i), "integers of a scalar tensor past 2^24");
    tensor.As<float>()[i] = real;
  }
  ledger.Changed(name, "item type", "integers as FLOAT, exactly");
  return tensor;
}

Result<format::Tensor> Load(Builder& builder, const Call& call, const std::string& name,
                            const std::string& label, const Dims& dims) {
  const std::string file = label + ".dat";
  QTX_ASSIGN_OR_RETURN(const auto bytes, builder.files().Open(file));
  if (!bytes) return Invalid(call.text().Place(), "found no file '" + file.substr(0, 100) + "'");
  auto dat = ParseDat(bytes->view());
  if (!dat.has_value()) return At(file, dat.error());
  if (dat->dims != dims)
    return Invalid(file + ": byte 12", "found shape " + format::ToString(dat->dims) +
                                           ", expected " + format::ToString(dims) + " of line " +
                                           std::to_string(call.text().line));
  const bool integers = dat->item != ItemType::kFloat && dat->item != ItemType::kBool;
  std::optional<format::TensorType> type;
  if (integers) {
    QTX_ASSIGN_OR_RETURN(type, builder.Quantized(name, dims, true));
  }
  auto tensor = type ? Stored(*dat, *type)
                     : Plain(*dat, TypeOfName(call.text().type), name, builder.ledger());
  if (!tensor.has_value()) return At(file, tensor.error());
  return tensor;
}

bool IsLiteralOf(ElementType type, const Value& item) {
  if (type == ElementType::kBool) return item.kind == Value::Kind::kBool;
  return type == ElementType::kInt64 ? item.integer : item.kind == Value::Kind::kNumber;
}

}  // namespace

Result<void> ConvertExternal(Builder& builder, const Call& call, const Operator&) {
  QTX_ASSIGN_OR_RETURN(const Dims dims, ShapeOf(call));
  QTX_ASSIGN_OR_RETURN(const std::string name, builder.ResultName(call, 0));
  GraphTensor tensor;
  tensor.type.elem_type = TypeOfName(call.text().type);
  tensor.type.shape = format::ToShape(dims);
  tensor.dims = dims;
  if (tensor.type.elem_type == ElementType::kFloat) {
    QTX_ASSIGN_OR_RETURN(auto quantized, builder.Quantized(name, dims, false));
    if (quantized) tensor.type = *std::move(quantized);
  }
  return builder.AddInput(call, name, std::move(tensor));
}

Result<void> ConvertVariable(Builder& builder, const Call& call, const Operator&) {
  QTX_ASSIGN_OR_RETURN(const Dims dims, ShapeOf(call));
  QTX_ASSIGN_OR_RETURN(const std::string name, builder.ResultName(call, 0));
  QTX_ASSIGN_OR_RETURN(std::string label, call.String("label", ""));
  if (label.starts_with('/')) label.erase(0, 1);  // as NNEF-Tools writes the file
  if (label.empty()) return call.Wrong("label", "a string");
  QTX_ASSIGN_OR_RETURN(format::Tensor tensor, Load(builder, call, name, label, dims));
  GraphTensor* constant = builder.Constant(std::move(tensor), label);
  if (constant->type.quantization) return builder.Define(call, name, constant);
  return builder.Bind(call, constant);
}

Result<void> ConvertConstant(Builder& builder, const Call& call, const Operator&) {
  QTX_ASSIGN_OR_RETURN(const Dims dims, ShapeOf(call));
  QTX_ASSIGN_OR_RETURN(const std::string name, builder.ResultName(call, 0));
  const Value* value = call.Find("value");
  if (value == nullptr || !value->IsList()) return call.Wrong("value", "a list of literals");
  const auto count = static_cast<std::size_t>(*format::ElementCount(dims));
  const std::size_t given = value->items.size();
  if (given != count && given != 1)
    return call.Wrong("value", "1 or " + std::to_string(count) + " literals");
  if (count > (std::size_t{1} << 26))
    return Error{ErrorCode::kTooLarge, call.text().Place(), "more than 2^26 elements"};
  const ElementType type = TypeOfName(call.text().type);
  const auto fits = [type](const Value& item) { return IsLiteralOf(type, item); };
  if (!std::ranges::all_of(value->items, fits))
    return call.Wrong("value", "literals of the constant's type");
  const auto item = [&](std::size_t i) -> const Value& { return value->items[given == 1 ? 0 : i]; };
  if (type == ElementType::kFloat) {
    format::Tensor floats{type, dims, std::nullopt, {}};
    floats.bytes.resize(count * sizeof(float));
    for (std::size_t i = 0; i < count; ++i)
      floats.As<float>()[i] = static_cast<float>(item(i).number);
    return builder.Bind(call, builder.Constant(floats, name));
  }
  std::vector<std::int64_t> integers(count);
  for (std::size_t i = 0; i < count; ++i) {
    const bool is_bool = item(i).kind == Value::Kind::kBool;
    integers[i] = is_bool ? static_cast<std::int64_t>(item(i).number) : item(i).whole;
  }
  return builder.Define(call, name, builder.Constant(Packed(type, dims, integers), name));
}

// To the type that graph.quant says, or the one of cast<type> or of tract's `to`.
Result<void> ConvertCast(Builder& builder, const Call& call, const Operator&) {
  QTX_ASSIGN_OR_RETURN(GraphTensor * from, builder.Operand(call, "input"));
  QTX_ASSIGN_OR_RETURN(const std::string to, call.String("to", ""));
  ElementType type = TypeOfName(call.text().type);
  if (to == "bool") type = ElementType::kBool;
  if (to == "i64" || to == "tdim") type = ElementType::kInt64;
  if (to == "f16") type = ElementType::kFloat16;
  if (to == "i32") type = ElementType::kInt32;
  const bool known = to.empty() || to == "f32" || type != ElementType::kFloat;
  QTX_ASSIGN_OR_RETURN(const std::string name, builder.ResultName(call, 0));
  QTX_ASSIGN_OR_RETURN(const auto quantized, builder.Quantized(name, from->dims, false));
  if (!known && !quantized)
    return Unsupported(call.text().Place(), "to '" + to.substr(0, 32) + "'");
  if (quantized) type = quantized->elem_type;
  if (!quantized && from->type.elem_type == type) return builder.Bind(call, from);
  const ElementType result = quantized ? ElementType::kFloat : type;
  return builder.Emit(
      call, {"Cast", {builder.Use(from)}, {IntAttribute("to", static_cast<std::int64_t>(type))}},
      from->dims, result);
}

}  // namespace qtx::convert::nnef
