#include "arithmetic/power_sum.h"
#include "ops/reduce.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// The sum of squares over axes.  Source: reduce_sum_square.S1 to reduce_sum_square.S5.
Result<format::Tensor> ReduceSumSquare(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Operand x, NumberAt(call, 0));
  QTX_ASSIGN_OR_RETURN(Reduction reduction, Reduction::Make(call, 18));
  QTX_ASSIGN_OR_RETURN(Output output, Output::Make(call, reduction.dims()));
  PowerSum sum(call.arithmetic, {.p = 2, .root = false}, x, &output);
  while (reduction.Next()) sum.Put(reduction.element(), reduction.sources());
  return output.Take();
}

}  // namespace

const Operator kReduceSumSquare = {.op_type = "ReduceSumSquare",
                                   .min_inputs = 1,
                                   .max_inputs = 2,
                                   .attributes = ReductionAttributes(),
                                   .run = ReduceSumSquare};

}  // namespace qtx::reference::ops
