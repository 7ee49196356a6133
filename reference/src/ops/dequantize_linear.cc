#include "ops/linear.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

using format::AttributeType;

// Source: dequantize_linear.S1 to .S3, float32.S1.
Result<format::Tensor> DequantizeLinear(const Call& call) {
  const auto quantized = format::QuantizedOf(call.inputs[0]->elem_type);
  if (!quantized || call.outputs[0].elem_type != format::ElementType::kFloat) {
    return Error{ErrorCode::kInvalid, InputName(call, 0),
                 "found type " + std::string(format::Name(call.inputs[0]->elem_type)) +
                     ", expected a storage type, and FLOAT for the output"};
  }
  format::Tensor stored = *call.inputs[0];
  QTX_ASSIGN_OR_RETURN(stored.quantization, LinearParameters(call, stored.dims, stored.elem_type));
  stored.elem_type = *quantized;
  QTX_ASSIGN_OR_RETURN(const Operand x, Operand::Make(stored));
  return ConvertAll(call, x);
}

constexpr AttributeRule kAttributes[] = {{"axis", AttributeType::kInt},
                                         {"block_size", AttributeType::kInt}};

format::ElementType InferType(const format::Node&, std::span<const format::ElementType>,
                              std::size_t) {
  return format::ElementType::kFloat;
}

}  // namespace

const Operator kDequantizeLinear = {.op_type = "DequantizeLinear",
                                    .min_inputs = 2,
                                    .max_inputs = 3,
                                    .attributes = kAttributes,
                                    .infer = InferType,
                                    .run = DequantizeLinear};

}  // namespace qtx::reference::ops
