#include "arithmetic/power_sum.h"
#include "ops/reduce.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// The sum of squares over axes.  Source: reduce_sum_square.S1 to reduce_sum_square.S5.
Result<format::Tensor> ReduceSumSquare(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Operand x, OperandAt(call, 0));
  QTX_ASSIGN_OR_RETURN(Reduction reduction, Reduction::Make(call));
  QTX_ASSIGN_OR_RETURN(Output output, Output::Of(call));
  PowerSum sum(call.arithmetic, {.p = 2, .root = false}, x, &output);
  while (reduction.Next()) sum.Put(reduction.element(), reduction.sources());
  return output.Take();
}

}  // namespace

const Operator kReduceSumSquare = {.op_type = "ReduceSumSquare", .run = ReduceSumSquare};

}  // namespace qtx::reference::ops
