#include "arithmetic/running_product.h"
#include "ops/reduce.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// The product over axes.  Source: reduce_prod.S1 to reduce_prod.S5.
Result<format::Tensor> ReduceProd(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Operand x, OperandAt(call, 0));
  QTX_ASSIGN_OR_RETURN(Reduction reduction, Reduction::Make(call));
  QTX_ASSIGN_OR_RETURN(Output output, Output::Of(call));
  RunningProduct product(call.arithmetic, x, &output);
  while (reduction.Next()) {
    product.Reset();
    for (const std::int64_t source : reduction.sources()) product.Multiply(source);
    product.Put(reduction.element());
  }
  return output.Take();
}

}  // namespace

const Operator kReduceProd = {.op_type = "ReduceProd", .run = ReduceProd};

}  // namespace qtx::reference::ops
