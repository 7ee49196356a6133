#include "ops/linear.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

using format::ElementType;

// Source: quantize_linear.S1 to .S6.
Result<format::Tensor> QuantizeLinear(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Operand x, OperandAt(call, 0));
  const format::Dims& dims = x.tensor().dims;
  // A float8 result is no quantized type: NaN stays NaN, and `saturate` counts.
  const ElementType storage = call.outputs[0].elem_type;
  const bool is_float = format::IsSmallFloat(storage);
  const OutputType type{is_float ? storage : *format::QuantizedOf(storage),
                        ParametersAt(call, {1, 2}, dims, LinearShape(call, 1, dims)),
                        {.saturate = call.Int("saturate") == 1}};
  Call typed = call;
  typed.outputs = {&type, 1};
  QTX_ASSIGN_OR_RETURN(format::Tensor result, ConvertAll(typed, x));
  result.elem_type = storage;  // the parameters stay inputs: the result is a plain integer tensor
  result.quantization.reset();
  return result;
}

constexpr Operator Entry(std::string_view domain) {
  return {.op_type = "QuantizeLinear", .domain = domain, .run = QuantizeLinear};
}

}  // namespace

const Operator kQuantizeLinear = Entry("");
const Operator kMicrosoftQuantizeLinear = Entry(kMicrosoft);

}  // namespace qtx::reference::ops
