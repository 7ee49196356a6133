#include "arithmetic/power.h"
#include "ops/common.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// The exponent may have any type whose elements are numbers.  Source: pow.C1.
Result<Operand> ExponentAt(const Call& call) {
  const format::Tensor* y = call.Input(1);
  if (y != nullptr && IsPlain(y->elem_type)) {
    auto operand = Operand::Make(*y);
    if (!operand.has_value()) return At(InputName(call, 1), std::move(operand).error());
    return operand;
  }
  return OperandAt(call, 1);
}

// z = x to the power y over the reals.  Source: pow.S1 to pow.S5.
Result<format::Tensor> Pow(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Operand x, NumberAt(call, 0));
  QTX_ASSIGN_OR_RETURN(const Operand y, ExponentAt(call));
  QTX_ASSIGN_OR_RETURN(const format::Dims dims, Broadcast(x.tensor().dims, y.tensor().dims));
  QTX_ASSIGN_OR_RETURN(Output output, Output::Make(call, dims));
  PowerPutter putter(call.arithmetic, x, y, &output);
  const std::vector<std::int64_t> ix = BroadcastIndices(x.tensor().dims, dims);
  const std::vector<std::int64_t> iy = BroadcastIndices(y.tensor().dims, dims);
  for (std::size_t i = 0; i < ix.size(); ++i) {
    putter.Put(static_cast<std::int64_t>(i), ix[i], iy[i]);
  }
  return output.Take();
}

}  // namespace

const Operator kPow = {
    .op_type = "Pow", .min_inputs = 2, .max_inputs = 2, .attributes = {}, .run = Pow};

}  // namespace qtx::reference::ops
