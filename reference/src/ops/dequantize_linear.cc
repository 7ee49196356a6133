#include "ops/linear.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

using format::AttributeType;
using format::ElementType;

// output_dtype, or the type of the scale.  Source: dequantize_linear.S5.
ElementType ResultType(const format::Node& node, ElementType scale) {
  const auto named = static_cast<ElementType>(node.IntOr("output_dtype", 0));
  return named != ElementType::kUndefined ? named : scale;
}

// Source: dequantize_linear.S1 to .S5, float32.S1.
Result<format::Tensor> DequantizeLinear(const Call& call) {
  const auto quantized = format::QuantizedOf(call.inputs[0]->elem_type);
  if (!quantized) {
    return Error{ErrorCode::kInvalid, InputName(call, 0),
                 "found type " + std::string(format::Name(call.inputs[0]->elem_type)) +
                     ", expected a storage type"};
  }
  const ElementType expected = ResultType(call.node, call.inputs[1]->elem_type);
  if (call.outputs[0].elem_type != expected || !IsScaleType(expected)) {
    return Error{ErrorCode::kInvalid, "output[0]",
                 "found type " + std::string(format::Name(call.outputs[0].elem_type)) +
                     ", expected that of the scale or of output_dtype, a float"};
  }
  format::Tensor stored = *call.inputs[0];
  QTX_ASSIGN_OR_RETURN(stored.quantization, LinearParameters(call, stored.dims, stored.elem_type));
  stored.elem_type = *quantized;
  QTX_ASSIGN_OR_RETURN(const Operand x, Operand::Make(stored));
  return ConvertAll(call, x);
}

constexpr AttributeRule kAttributes[] = {{"axis", AttributeType::kInt},
                                         {"block_size", AttributeType::kInt},
                                         {"output_dtype", AttributeType::kInt}};

ElementType InferType(const format::Node& node, std::span<const ElementType> inputs, std::size_t) {
  return ResultType(node, inputs[1]);
}

}  // namespace

const Operator kDequantizeLinear = {.op_type = "DequantizeLinear",
                                    .min_inputs = 2,
                                    .max_inputs = 3,
                                    .attributes = kAttributes,
                                    .infer = InferType,
                                    .run = DequantizeLinear};

}  // namespace qtx::reference::ops
