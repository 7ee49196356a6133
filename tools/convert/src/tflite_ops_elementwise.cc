// ADD, SUB, MUL, RELU and its kin, QUANTIZE, DEQUANTIZE: the same in both orders of dimensions.
#include <cstring>

#include "tflite_ops.h"

namespace qtx::convert {
namespace {

using format::Attribute;
using schema::ActivationFunctionType;
using schema::BuiltinOperator;

Error Invalid(std::string where, std::string message) {
  return {ErrorCode::kInvalid, std::move(where), std::move(message)};
}

struct Binary {
  const char* op_type;
  ActivationFunctionType activation;
};

// A file may leave the options out: then nothing is fused.
Binary BinaryOf(const TfliteOperator& op) {
  const auto fused = [](const auto* options) {
    return options == nullptr ? ActivationFunctionType::NONE : options->fused_activation_function();
  };
  if (op.code == BuiltinOperator::ADD)
    return {"Add", fused(op.options->builtin_options_as_AddOptions())};
  if (op.code == BuiltinOperator::SUB)
    return {"Sub", fused(op.options->builtin_options_as_SubOptions())};
  return {"Mul", fused(op.options->builtin_options_as_MulOptions())};
}

std::string Bound(TfliteBuilder& builder, int tensor, const char* suffix, float value) {
  format::Tensor scalar{
      format::ElementType::kFloat, {}, std::nullopt, std::vector<std::byte>(sizeof value)};
  std::memcpy(scalar.bytes.data(), &value, sizeof value);
  return builder.AddInitializer(builder.tensor(tensor).name + suffix, scalar);
}

Result<void> CheckSameShape(const TfliteBuilder& builder, int x, int y) {
  if (builder.tensor(x).dims == builder.tensor(y).dims) return {};
  return Invalid("output", "shape " + format::ToString(builder.tensor(y).dims) + " for input " +
                               format::ToString(builder.tensor(x).dims));
}

}  // namespace

Result<void> ConvertBinary(TfliteBuilder& builder, const TfliteOperator& op) {
  const Binary binary = BinaryOf(op);
  QTX_ASSIGN_OR_RETURN(const int a, builder.Input(op, 0));
  QTX_ASSIGN_OR_RETURN(const int b, builder.Input(op, 1));
  QTX_ASSIGN_OR_RETURN(const int y, builder.Output(op));
  const Layout layout = CommonLayout(builder, std::vector<int>{a, b, y});
  QTX_ASSIGN_OR_RETURN(const std::string a_name, builder.Use(a, layout));
  QTX_ASSIGN_OR_RETURN(const std::string b_name, builder.Use(b, layout));
  return builder.Emit(op, {binary.op_type, {a_name, b_name}, {}}, y, layout, binary.activation);
}

Result<void> ConvertActivation(TfliteBuilder& builder, const TfliteOperator& op) {
  QTX_ASSIGN_OR_RETURN(const int x, builder.Input(op, 0));
  QTX_ASSIGN_OR_RETURN(const int y, builder.Output(op));
  QTX_RETURN_IF_ERROR(CheckSameShape(builder, x, y));
  const Layout layout = CommonLayout(builder, std::vector<int>{x, y});
  QTX_ASSIGN_OR_RETURN(const std::string x_name, builder.Use(x, layout));
  Draft draft{"Relu", {x_name}, {}};
  if (op.code != BuiltinOperator::RELU) {
    const bool six = op.code == BuiltinOperator::RELU6;
    draft.op_type = "Clip";
    draft.inputs.push_back(Bound(builder, y, "/min", six ? 0.0F : -1.0F));
    draft.inputs.push_back(Bound(builder, y, "/max", six ? 6.0F : 1.0F));
  }
  return builder.Emit(op, std::move(draft), y, layout);
}

Result<void> ConvertCast(TfliteBuilder& builder, const TfliteOperator& op) {
  QTX_ASSIGN_OR_RETURN(const int x, builder.Input(op, 0));
  QTX_ASSIGN_OR_RETURN(const int y, builder.Output(op));
  QTX_RETURN_IF_ERROR(CheckSameShape(builder, x, y));
  QTX_ASSIGN_OR_RETURN(const format::TensorType type, builder.Type(y));
  const bool quantizes = op.code == BuiltinOperator::QUANTIZE;
  if (quantizes != type.quantization.has_value()) {
    return Invalid("output", std::string(format::Name(type.elem_type)) +
                                 (quantizes ? " has no scale" : " is quantized"));
  }
  const Layout layout = CommonLayout(builder, std::vector<int>{x, y});
  QTX_ASSIGN_OR_RETURN(const std::string x_name, builder.Use(x, layout));
  Draft cast{"Cast", {x_name}, {Attribute::Int("to", static_cast<std::int64_t>(type.elem_type))}};
  return builder.Emit(op, std::move(cast), y, layout);
}

}  // namespace qtx::convert
