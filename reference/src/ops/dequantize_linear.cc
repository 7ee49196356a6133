#include "ops/linear.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

using format::AttributeType;
using format::ElementType;

bool IsResult(ElementType type) {
  return type == ElementType::kFloat || type == ElementType::kFloat16 ||
         type == ElementType::kBfloat16;
}

// output_dtype, or the scale's type where that is a result's.  Source: dequantize_linear.S5.
ElementType ResultFor(const format::Node& node, ElementType scale) {
  const std::int64_t named = node.IntOr("output_dtype", 0);
  if (named != 0) return format::ElementTypeFromCode(named).value_or(ElementType::kUndefined);
  return IsResult(scale) ? scale : ElementType::kFloat;
}

// Source: dequantize_linear.S1 to .S6, float32.S1.
Result<format::Tensor> DequantizeLinear(const Call& call) {
  const ElementType storage = call.inputs[0]->elem_type;
  const auto quantized = format::QuantizedOf(storage);
  if (!quantized) {
    return Error{ErrorCode::kInvalid, InputName(call, 0),
                 "found type " + std::string(format::Name(storage)) + ", expected a storage type"};
  }
  const ElementType scale =
      call.Input(1) == nullptr ? ElementType::kFloat : call.Input(1)->elem_type;
  const ElementType expected = ResultFor(call.node, scale);
  if (!IsResult(expected) || call.outputs[0].elem_type != expected) {
    return Error{ErrorCode::kInvalid, "output[0]",
                 "found type " + std::string(format::Name(call.outputs[0].elem_type)) +
                     ", expected " + std::string(format::Name(expected)) +
                     ", one of FLOAT, FLOAT16 and BFLOAT16"};
  }
  format::Tensor stored = *call.inputs[0];
  QTX_ASSIGN_OR_RETURN(const ParameterShape shape, LinearShape(call, 1, stored.dims));
  QTX_ASSIGN_OR_RETURN(stored.quantization, ParametersAt(call, {1, 2}, storage, stored.dims, shape,
                                                         std::span(kScaleTypes).first(4)));
  stored.elem_type = *quantized;
  QTX_ASSIGN_OR_RETURN(const Operand x, Operand::Make(stored));
  return ConvertAll(call, x);
}

constexpr AttributeRule kDequantizeLinearAttributes[] = {{"axis", AttributeType::kInt},
                                                         {"block_size", AttributeType::kInt},
                                                         {"output_dtype", AttributeType::kInt}};

ElementType InferDequantizeLinearType(const format::Node& node, std::span<const ElementType> inputs,
                                      std::size_t) {
  return ResultFor(node, inputs.size() > 1 ? inputs[1] : ElementType::kFloat);
}

constexpr Operator Entry(std::string_view domain) {
  return {.op_type = "DequantizeLinear",
          .domain = domain,
          .min_inputs = 2,
          .max_inputs = 3,
          .attributes = kDequantizeLinearAttributes,
          .infer = InferDequantizeLinearType,
          .run = DequantizeLinear};
}

}  // namespace

const Operator kDequantizeLinear = Entry("");
const Operator kMicrosoftDequantizeLinear = Entry(kMicrosoft);

}  // namespace qtx::reference::ops
