#include "ops/linear.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// Source: dequantize_linear.S1 to .S6, float32.S1.
Result<format::Tensor> DequantizeLinear(const Call& call) {
  format::Tensor stored = *call.inputs[0];
  stored.quantization = ParametersAt(call, {1, 2}, stored.dims, LinearShape(call, 1, stored.dims));
  stored.elem_type = *format::QuantizedOf(stored.elem_type);
  QTX_ASSIGN_OR_RETURN(const Operand x, Operand::Make(stored));
  return ConvertAll(call, x);
}

constexpr Operator Entry(std::string_view domain) {
  return {.op_type = "DequantizeLinear", .domain = domain, .run = DequantizeLinear};
}

}  // namespace

const Operator kDequantizeLinear = Entry("");
const Operator kMicrosoftDequantizeLinear = Entry(kMicrosoft);

}  // namespace qtx::reference::ops
