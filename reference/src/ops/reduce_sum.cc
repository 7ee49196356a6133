#include "arithmetic/average.h"
#include "ops/reduce.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// The sum over axes.  Source: reduce_sum.S1 to reduce_sum.S5.
Result<format::Tensor> ReduceSum(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Operand x, OperandAt(call, 0));
  QTX_ASSIGN_OR_RETURN(Reduction reduction, Reduction::Make(call));
  QTX_ASSIGN_OR_RETURN(Output output, Output::Of(call));
  Averager sum(call, x, &output, Averager::Kernel::kNone, StoredSum::Kind::kSum, reduction.count());
  while (reduction.Next()) sum.Put(reduction.element(), reduction.sources(), 1);
  return output.Take();
}

}  // namespace

const Operator kReduceSum = {.op_type = "ReduceSum", .run = ReduceSum};

}  // namespace qtx::reference::ops
