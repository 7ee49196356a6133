// XNNPACK's LEAKY_RELU and QUANTIZE of 8 bits: a multiplier with 8 fractional bits.
#include "arithmetic/image_resize.h"
#include "arithmetic/kernel_types.h"
#include "arithmetic/round.h"
#include "arithmetic/tflite_kernels.h"

namespace qtx::reference {
namespace {

std::int64_t Eighths(float factor) {
  return static_cast<std::int64_t>(RoundFloat(factor * 256, TieRule::kHalfEven));
}

}  // namespace

// Source: xnnpack.S8, xnnpack.S9, xnnpack.S10.
Result<std::optional<format::Tensor>> RunXnnpackKernel(const Call& call) {
  if (call.node.op_type == "Gemm" || call.node.op_type == "MatMul" || call.node.op_type == "Conv") {
    return RunXnnpackDynamic(call);
  }
  if (call.node.op_type == "Resize") return RunResizeKernel(call);
  const bool leaky = call.node.op_type == "LeakyRelu" && StandsFor(call.node, "LEAKY_RELU");
  const bool quantize = call.node.op_type == "Cast" && StandsFor(call.node, "QUANTIZE");
  if ((!leaky && !quantize) || call.Input(0) == nullptr ||
      !HasUnaryKernel(*call.Input(0), call.outputs[0], false)) {
    return std::optional<format::Tensor>();
  }
  QTX_ASSIGN_OR_RETURN(const Operand x, Operand::Make(*call.Input(0)));
  QTX_ASSIGN_OR_RETURN(Output y, Output::Make(call, x.tensor().dims));
  const float factor = x.scale(0) / y.scale(0);
  const float below = leaky ? factor * call.Float("alpha") : factor;
  if (!HasXnnpackFactor(factor) || !HasXnnpackFactor(below)) {
    y.Refuse("xnnpack.C3");
    return std::optional(y.Take());
  }
  const std::int64_t positive = Eighths(factor), negative = Eighths(below);
  const std::int64_t count = format::ElementCount(x.tensor());
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t steps = x.integer(i);
    const std::int64_t product = steps * (steps < 0 ? negative : positive);
    y.PutStored(i, RoundShift(product, 8, TieRule::kHalfUp) + y.offset(i));
  }
  return std::optional(y.Take());
}

}  // namespace qtx::reference
