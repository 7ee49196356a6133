#include <algorithm>
#include <cmath>
#include <functional>

#include "ops/linear.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

bool IsFactor(float scale) { return std::isfinite(scale); }

// What IEEE 754 makes of x times an infinity or NaN: an infinity or NaN.
Real Product(const Real& x, float scale) {
  const double sign = x.finite ? static_cast<double>(sgn(x.value)) : x.special;
  return {.finite = false, .special = sign * static_cast<double>(scale), .value = 0};
}

// Where some of `scales`, which the graph computes, are infinite or NaN; x has 1 for them.
// Source: dequantize_linear.S1.
Result<format::Tensor> DequantizeBySpecial(const Call& call, const Operand& x,
                                           const std::vector<float>& scales) {
  const format::Dims& dims = x.tensor().dims;
  QTX_ASSIGN_OR_RETURN(Output output, Output::Make(call, dims));
  Converter converter(call.arithmetic, x, &output, Purpose::kChange);
  const format::ParameterMap parameter(*x.tensor().quantization, dims);
  for (std::int64_t i = 0; i < format::ElementCount(x.tensor()); ++i) {
    const float scale = scales[scales.size() == 1 ? 0 : static_cast<std::size_t>(parameter(i))];
    if (IsFactor(scale)) {
      converter.Put(i, i);
    } else {
      output.PutReal(i, Product(ToReal(x.exact(i)), scale));
    }
  }
  return output.Take();
}

// Source: dequantize_linear.S1 to .S6, float32.S1.
Result<format::Tensor> DequantizeLinear(const Call& call) {
  format::Tensor stored = *call.inputs[0];
  stored.quantization = ParametersAt(call, {1, 2}, stored.dims, LinearShape(call, 1, stored.dims));
  stored.elem_type = *format::QuantizedOf(stored.elem_type);
  const std::vector<float> scales = stored.quantization->scale;
  std::ranges::replace_if(stored.quantization->scale, std::not_fn(IsFactor), 1.0F);
  QTX_ASSIGN_OR_RETURN(const Operand x, Operand::Make(stored));
  const bool ordinary = std::ranges::all_of(scales, IsFactor);
  return ordinary ? ConvertAll(call, x) : DequantizeBySpecial(call, x, scales);
}

constexpr Operator Entry(std::string_view domain) {
  return {.op_type = "DequantizeLinear", .domain = domain, .run = DequantizeLinear};
}

}  // namespace

const Operator kDequantizeLinear = Entry("");
const Operator kMicrosoftDequantizeLinear = Entry(kMicrosoft);

}  // namespace qtx::reference::ops
