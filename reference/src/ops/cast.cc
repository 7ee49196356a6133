#include "arithmetic/small_float.h"
#include "ops/common.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

using format::AttributeType;
using format::ElementType;

Result<SmallFloatRule> RuleOf(const format::Node& node) {
  const std::int64_t saturate = node.IntOr("saturate", 1);
  if (saturate != 0 && saturate != 1) {
    return Error{ErrorCode::kInvalid, "attribute 'saturate'",
                 "found " + std::to_string(saturate) + ", expected 0 or 1"};
  }
  const std::string mode = node.StringOr("round_mode", "up");
  if (mode == "up") return SmallFloatRule{saturate == 1, ScaleRounding::kUp};
  if (mode == "down") return SmallFloatRule{saturate == 1, ScaleRounding::kDown};
  if (mode == "nearest") return SmallFloatRule{saturate == 1, ScaleRounding::kNearest};
  return Error{ErrorCode::kInvalid, "attribute 'round_mode'",
               "found '" + mode + "', expected up, down or nearest"};
}

Result<void> CheckAttributes(const format::Node& node) {
  const format::Attribute* to = node.Find("to");
  if (to == nullptr || !format::ElementTypeFromCode(to->i)) {
    return Error{ErrorCode::kInvalid, "attribute 'to'", "expected the code of an element type"};
  }
  QTX_RETURN_IF_ERROR(RuleOf(node));
  if (format::IsQuantized(static_cast<ElementType>(to->i))) return CheckSaturate(node);
  return {};
}

bool IsFloat(ElementType type) {
  return type == ElementType::kFloat || type == ElementType::kDouble ||
         type == ElementType::kFloat16 || type == ElementType::kBfloat16 ||
         (format::IsSmallFloat(type) && !format::IsQuantized(type));
}

bool IsWhole(ElementType type) {
  return type == ElementType::kBool ||
         (format::IsIntegerStorage(type) && !format::IsQuantized(type));
}

// A number of one element type for one of another, or a quantized type for a float.  Source:
// cast.C1.
Result<void> CheckTypes(const Call& call, ElementType from, ElementType to) {
  const bool fits = (format::IsQuantized(from) || IsFloat(from) || IsWhole(from)) &&
                    (format::IsQuantized(to) || IsFloat(to) || IsWhole(to)) &&
                    !(format::IsQuantized(from) && IsWhole(to)) &&
                    !(IsWhole(from) && format::IsQuantized(to));
  if (fits) return {};
  return Error{ErrorCode::kInvalid, InputName(call, 0),
               "type " + std::string(format::Name(from)) + " cannot be cast to " +
                   std::string(format::Name(to))};
}

// Source: cast.S6, cast.S7.
Result<format::Tensor> ToSmallFloat(const Call& call, const Operand& x, ElementType to) {
  QTX_ASSIGN_OR_RETURN(const SmallFloatRule rule, RuleOf(call.node));
  QTX_ASSIGN_OR_RETURN(format::Tensor result, format::MakeTensor(to, x.tensor().dims));
  const std::int64_t count = format::ElementCount(result);
  std::vector<std::int32_t> codes;
  codes.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    const Real real = ToReal(x.exact(i));
    const double value = real.finite ? OddDouble(real.value) : real.special;
    codes.push_back(static_cast<std::int32_t>(SmallFloatCode(to, value, rule)));
  }
  result.elem_type = format::BitWidth(to) == 4 ? ElementType::kUint4 : ElementType::kUint8;
  format::PackInt32(codes, result);
  result.elem_type = to;
  return result;
}

// One conversion of a number, the same in every arithmetic.  Source: cast.S5.
Result<format::Tensor> ConvertNumbers(const Call& call, const Operand& x) {
  const Arithmetic exact;  // the coordinates' defaults
  const Call same{.node = call.node,
                  .arithmetic = exact,
                  .opset = call.opset,
                  .inputs = call.inputs,
                  .outputs = call.outputs,
                  .counters = call.counters};
  return ConvertAll(same, x);
}

// Quantize, dequantize or requantize, explicitly, or convert numbers.  Source: cast.S1 to cast.S7,
// tflite.S9.
Result<format::Tensor> Cast(const Call& call) {
  const auto to = static_cast<ElementType>(call.node.IntOr("to", 0));
  if (to != call.outputs[0].elem_type) {
    return Error{ErrorCode::kInvalid, "attribute 'to'",
                 "found " + std::string(format::Name(to)) + ", expected the output's type " +
                     std::string(format::Name(call.outputs[0].elem_type))};
  }
  const format::Tensor& from = *call.inputs[0];
  QTX_RETURN_IF_ERROR(CheckTypes(call, from.elem_type, to));
  auto x = Operand::Make(from);
  if (!x.has_value()) return At(InputName(call, 0), std::move(x).error());
  if (format::IsSmallFloat(to) && !format::IsQuantized(to)) return ToSmallFloat(call, *x, to);
  if (format::IsQuantized(from.elem_type) || format::IsQuantized(to)) return ConvertAll(call, *x);
  return ConvertNumbers(call, *x);
}

constexpr AttributeRule kAttributes[] = {{"round_mode", AttributeType::kString},
                                         {"saturate", AttributeType::kInt},
                                         {"to", AttributeType::kInt}};

ElementType InferType(const format::Node& node, std::span<const ElementType>, std::size_t) {
  return static_cast<ElementType>(node.IntOr("to", 0));
}

}  // namespace

const Operator kCast = {.op_type = "Cast",
                        .min_inputs = 1,
                        .max_inputs = 1,
                        .attributes = kAttributes,
                        .check = CheckAttributes,
                        .infer = InferType,
                        .run = Cast};

}  // namespace qtx::reference::ops
