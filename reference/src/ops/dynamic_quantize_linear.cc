#include <algorithm>
#include <cmath>

#include "ops/linear.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

using format::ElementType;
using format::Tensor;

// The least and the greatest element, and zero.
struct Range {
  float min = 0;
  float max = 0;
};

Range RangeOf(const Tensor& x) {
  Range range;
  for (const float value : x.As<float>()) {
    range = {std::min(range.min, value), std::max(range.max, value)};
  }
  return range;
}

// A call whose only output has this type.
Call Typed(const Call& call, const OutputType& type) {
  Call typed = call;
  typed.outputs = {&type, 1};
  return typed;
}

// (max - min) / 255: once rounded, or the difference first.  Source: dynamic_quantize_linear.S1.
Result<Tensor> ScaleOf(const Call& call, const Range& range) {
  const OutputType type{ElementType::kFloat};
  QTX_ASSIGN_OR_RETURN(Output output, Output::Make(Typed(call, type), {}));
  if (call.arithmetic.domain == Domain::kFloat32) {
    output.PutFloat(0, (range.max - range.min) / 255.0F);
  } else {
    const Rational max(static_cast<double>(range.max));
    const Rational min(static_cast<double>(range.min));
    output.PutReal(0, {true, 0, (max - min) / 255});
  }
  Tensor scale = output.Take();
  float& value = scale.As<float>()[0];
  if (value == 0) value = 1;  // dynamic_quantize_linear.S3
  if (std::isfinite(value)) return scale;
  return Error{ErrorCode::kInvalid, InputName(call, 0), "spans more than binary32 reaches",
               "dynamic_quantize_linear.C2"};
}

// -min / scale on the scale with zero point 0.  Source: dynamic_quantize_linear.S2.
Result<Tensor> ZeroPointOf(const Call& call, const Range& range, float scale) {
  OutputType type{ElementType::kUint8Q, format::Quantization{}};
  type.quantization->scale = {scale};
  QTX_ASSIGN_OR_RETURN(Output output, Output::Make(Typed(call, type), {}));
  if (call.arithmetic.domain == Domain::kFloat32) {
    output.PutFloat(0, -range.min);
  } else {
    output.PutReal(0, {true, 0, Rational(static_cast<double>(-range.min))});
  }
  Tensor zero = output.Take();
  zero.elem_type = ElementType::kUint8;
  zero.quantization.reset();
  return zero;
}

// Source: dynamic_quantize_linear.S1 to .S4.
Result<std::vector<Tensor>> DynamicQuantizeLinear(const Call& call) {
  const Range range = RangeOf(*call.inputs[0]);
  QTX_ASSIGN_OR_RETURN(Tensor scale, ScaleOf(call, range));
  const float value = scale.As<float>()[0];
  QTX_ASSIGN_OR_RETURN(Tensor zero, ZeroPointOf(call, range, value));
  OutputType type{ElementType::kUint8Q, format::Quantization{}};
  type.quantization->scale = {value};
  type.quantization->offset = format::UnpackInt32(zero);
  QTX_ASSIGN_OR_RETURN(const Operand x, Operand::Make(*call.inputs[0]));
  QTX_ASSIGN_OR_RETURN(Tensor y, ConvertAll(Typed(call, type), x));
  y.elem_type = ElementType::kUint8;
  y.quantization.reset();
  std::vector<Tensor> outputs;
  for (Tensor* tensor : {&y, &scale, &zero}) {
    if (outputs.size() == call.outputs.size()) break;
    outputs.push_back(std::move(*tensor));
  }
  return outputs;
}

}  // namespace

const Operator kDynamicQuantizeLinear = {.op_type = "DynamicQuantizeLinear",
                                         .run_all = DynamicQuantizeLinear};

}  // namespace qtx::reference::ops
