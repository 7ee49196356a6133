#include "arithmetic/power_sum.h"
#include "ops/reduce.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// The root of the sum of squares over axes.  Source: reduce_l2.S1 to reduce_l2.S5.
Result<format::Tensor> ReduceL2(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Operand x, OperandAt(call, 0));
  QTX_ASSIGN_OR_RETURN(Reduction reduction, Reduction::Make(call));
  QTX_ASSIGN_OR_RETURN(Output output, Output::Of(call));
  PowerSum norm(call.arithmetic, {.p = 2, .root = true}, x, &output);
  while (reduction.Next()) norm.Put(reduction.element(), reduction.sources());
  return output.Take();
}

}  // namespace

const Operator kReduceL2 = {.op_type = "ReduceL2", .run = ReduceL2};

}  // namespace qtx::reference::ops
