#include "arithmetic/log_sum.h"
#include "ops/reduce.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// The logarithm of the sum of exponentials over axes.  Source: reduce_log_sum_exp.S1 to
// reduce_log_sum_exp.S5.
Result<format::Tensor> ReduceLogSumExp(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Operand x, OperandAt(call, 0));
  QTX_ASSIGN_OR_RETURN(Reduction reduction, Reduction::Make(call));
  QTX_ASSIGN_OR_RETURN(Output output, Output::Of(call));
  LogSum sum(call.arithmetic, x, &output);
  while (reduction.Next()) {
    sum.PutOfExponentials(reduction.element(), reduction.sources());
  }
  return output.Take();
}

}  // namespace

const Operator kReduceLogSumExp = {.op_type = "ReduceLogSumExp", .run = ReduceLogSumExp};

}  // namespace qtx::reference::ops
