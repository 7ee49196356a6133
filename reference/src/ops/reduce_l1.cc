#include "arithmetic/power_sum.h"
#include "ops/reduce.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// The sum of magnitudes over axes.  Source: reduce_l1.S1 to reduce_l1.S5.
Result<format::Tensor> ReduceL1(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Operand x, OperandAt(call, 0));
  QTX_ASSIGN_OR_RETURN(Reduction reduction, Reduction::Make(call));
  QTX_ASSIGN_OR_RETURN(Output output, Output::Of(call));
  PowerSum sum(call.arithmetic, {.p = 1, .root = false}, x, &output);
  while (reduction.Next()) sum.Put(reduction.element(), reduction.sources());
  return output.Take();
}

}  // namespace

const Operator kReduceL1 = {.op_type = "ReduceL1", .run = ReduceL1};

}  // namespace qtx::reference::ops
