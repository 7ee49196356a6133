#include "ops/common.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

using format::AttributeType;
using format::ElementType;
using Power = SmallFloatRule::Power;

constexpr std::pair<std::string_view, Power> kRoundModes[] = {
    {"down", Power::kDown}, {"nearest", Power::kNearest}, {"up", Power::kUp}};

Result<Power> RoundMode(const format::Node& node) {
  const std::string name = node.StringOr("round_mode", "up");
  for (const auto& [known, power] : kRoundModes) {
    if (name == known) return power;
  }
  return Error{ErrorCode::kInvalid, "attribute 'round_mode'",
               "found '" + name + "', expected up, down or nearest"};
}

Result<void> CheckTo(const format::Node& node) {
  const format::Attribute* to = node.Find("to");
  if (to == nullptr || !format::ElementTypeFromCode(to->i)) {
    return Error{ErrorCode::kInvalid, "attribute 'to'", "expected the code of an element type"};
  }
  if (to->i == static_cast<std::int64_t>(ElementType::kString)) {
    return Error{ErrorCode::kInvalid, "attribute 'to'", "STRING holds no numbers"};
  }
  QTX_RETURN_IF_ERROR(RoundMode(node));
  QTX_RETURN_IF_ERROR(CheckSaturate(node));
  const auto type = static_cast<ElementType>(to->i);
  if (node.IntOr("saturate", 1) == 0 && format::IsQuantized(type) &&
      format::IsSmallFloat(format::StorageOf(type))) {
    return Error{ErrorCode::kInvalid, "attribute 'saturate'",
                 "found 0, expected 1: " + std::string(format::Name(type)) + " always saturates"};
  }
  return {};
}

// A UINT64 of 2^63 or more is no Operand: its values are put one by one.
Result<format::Tensor> CastWide(const Call& call, const format::Tensor& x) {
  QTX_ASSIGN_OR_RETURN(Output output, Output::Make(call, x.dims));
  const auto values = x.As<std::uint64_t>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto element = static_cast<std::int64_t>(i);
    if (DomainFor(call.arithmetic, output) == Domain::kFloat32) {
      output.PutFloat(element, static_cast<float>(values[i]));
    } else {
      output.PutReal(element, {true, 0, Rational(mpz_class(values[i]))});
    }
  }
  return output.Take();
}

// Quantize, dequantize, requantize or convert, explicitly.  Source: cast.S1 to cast.S10, tflite.S9.
Result<format::Tensor> Cast(const Call& call) {
  const auto to = static_cast<ElementType>(call.node.IntOr("to", 0));
  if (to != call.outputs[0].elem_type) {
    return Error{ErrorCode::kInvalid, "attribute 'to'",
                 "found " + std::string(format::Name(to)) + ", expected the output's type " +
                     std::string(format::Name(call.outputs[0].elem_type))};
  }
  const format::Tensor& from = *call.inputs[0];
  OutputType type = call.outputs[0];
  QTX_ASSIGN_OR_RETURN(type.small_float.power, RoundMode(call.node));
  type.small_float.saturate = call.node.IntOr("saturate", 1) == 1;
  // cast.S8: between types that are not quantized there is nothing to approximate.
  const bool plain = !from.quantization && !type.quantization;
  const Arithmetic& exact = **FindArithmetic("exact");
  const Call typed{.node = call.node,
                   .arithmetic = plain ? exact : call.arithmetic,
                   .opset = call.opset,
                   .inputs = call.inputs,
                   .outputs = {&type, 1},
                   .counters = call.counters};
  if (from.elem_type == ElementType::kUint64) return CastWide(typed, from);
  auto x = Operand::Make(from);
  if (!x.has_value()) return At(InputName(call, 0), std::move(x).error());
  return ConvertAll(typed, *x);
}

constexpr AttributeRule kCastAttributes[] = {{"round_mode", AttributeType::kString},
                                             {"saturate", AttributeType::kInt},
                                             {"to", AttributeType::kInt}};

ElementType InferCastType(const format::Node& node, std::span<const ElementType>, std::size_t) {
  return static_cast<ElementType>(node.IntOr("to", 0));
}

}  // namespace

const Operator kCast = {.op_type = "Cast",
                        .min_inputs = 1,
                        .max_inputs = 1,
                        .attributes = kCastAttributes,
                        .check = CheckTo,
                        .infer = InferCastType,
                        .run = Cast};

}  // namespace qtx::reference::ops
