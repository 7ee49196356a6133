#include <algorithm>
#include <cmath>
#include <functional>

#include "ops/linear.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

using format::ElementType;

bool IsDivisor(float scale) { return std::isfinite(scale) && scale > 0; }

// What IEEE 754 makes of x over 0, an infinity or NaN: 0, an infinity or NaN.
Real Quotient(const Real& x, float scale) {
  const double sign = x.finite ? static_cast<double>(sgn(x.value)) : x.special;
  const double quotient = sign / static_cast<double>(std::abs(scale));  // -0 is 0
  return {.finite = std::isfinite(quotient), .special = quotient, .value = 0};
}

// Where some of `scales`, which the graph computes, are 0, infinite or NaN; `call` has 1 for them.
// Source: quantize_linear.S1.
Result<format::Tensor> QuantizeBySpecial(const Call& call, const Operand& x,
                                         const std::vector<float>& scales) {
  const format::Dims& dims = x.tensor().dims;
  QTX_ASSIGN_OR_RETURN(Output output, Output::Make(call, dims));
  Converter converter(call.arithmetic, x, &output, Purpose::kChange);
  const format::ParameterMap parameter(*call.outputs[0].quantization, dims);
  for (std::int64_t i = 0; i < format::ElementCount(x.tensor()); ++i) {
    const float scale = scales[scales.size() == 1 ? 0 : static_cast<std::size_t>(parameter(i))];
    if (IsDivisor(scale)) {
      converter.Put(i, i);
    } else {
      output.PutReal(i, Quotient(ToReal(x.exact(i)), scale));
    }
  }
  return output.Take();
}

// Source: quantize_linear.S1 to .S6.
Result<format::Tensor> QuantizeLinear(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Operand x, OperandAt(call, 0));
  const format::Dims& dims = x.tensor().dims;
  // A float8 result is no quantized type: NaN stays NaN, and `saturate` counts.
  const ElementType storage = call.outputs[0].elem_type;
  const bool is_float = format::IsSmallFloat(storage);
  OutputType type{*format::QuantizedOf(storage),
                  ParametersAt(call, {1, 2}, dims, LinearShape(call, 1, dims)),
                  {.saturate = call.Int("saturate") == 1}};
  if (is_float) type.elem_type = storage;
  const std::vector<float> scales = type.quantization->scale;
  const bool ordinary = std::ranges::all_of(scales, IsDivisor);
  std::ranges::replace_if(type.quantization->scale, std::not_fn(IsDivisor), 1.0F);
  Call typed = call;
  typed.outputs = {&type, 1};
  QTX_ASSIGN_OR_RETURN(format::Tensor result,
                       ordinary ? ConvertAll(typed, x) : QuantizeBySpecial(typed, x, scales));
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
