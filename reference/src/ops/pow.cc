#include "arithmetic/power.h"
#include "ops/common.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// z = x to the power y over the reals.  Source: pow.S1 to pow.S5.
Result<format::Tensor> Pow(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Operand x, OperandAt(call, 0));
  QTX_ASSIGN_OR_RETURN(const Operand y, OperandAt(call, 1));
  QTX_ASSIGN_OR_RETURN(Output output, Output::Of(call));
  const format::Dims& dims = output.tensor().dims;
  PowerPutter putter(call.arithmetic, x, y, &output);
  const std::vector<std::int64_t> ix = BroadcastIndices(x.tensor().dims, dims);
  const std::vector<std::int64_t> iy = BroadcastIndices(y.tensor().dims, dims);
  for (std::size_t i = 0; i < ix.size(); ++i) {
    putter.Put(static_cast<std::int64_t>(i), ix[i], iy[i]);
  }
  return output.Take();
}

}  // namespace

const Operator kPow = {.op_type = "Pow", .run = Pow};

}  // namespace qtx::reference::ops
