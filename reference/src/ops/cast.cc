#include "ops/cast.h"

#include "ops/common.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

using format::ElementType;
using Power = SmallFloatRule::Power;

Power RoundMode(const Call& call) {
  const std::string name = call.String("round_mode");
  if (name == "down") return Power::kDown;
  return name == "nearest" ? Power::kNearest : Power::kUp;
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

}  // namespace

Result<format::Tensor> RunCast(const Call& call) {
  const format::Tensor& from = *call.inputs[0];
  OutputType type = call.outputs[0];
  type.small_float.power = RoundMode(call);
  type.small_float.saturate = call.Int("saturate") == 1;
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
  QTX_ASSIGN_OR_RETURN(const Operand x, OperandAt(call, 0));
  return ConvertAll(typed, x);
}

const Operator kCast = {.op_type = "Cast", .run = RunCast};

}  // namespace qtx::reference::ops
