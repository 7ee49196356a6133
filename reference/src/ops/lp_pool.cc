#include "arithmetic/power_sum.h"
#include "ops/pool.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// The p-norm of each window.  Source: lp_pool.S1 to lp_pool.S4.
Result<format::Tensor> LpPool(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Operand x, OperandAt(call, 0));
  QTX_ASSIGN_OR_RETURN(const Window window, PoolWindow(call));
  QTX_ASSIGN_OR_RETURN(Output output, Output::Of(call));
  const auto p = static_cast<unsigned>(call.Int("p"));
  PowerSum norm(call.arithmetic, {.p = p, .root = true}, x, &output);
  PoolWalk walk(call, window);
  while (walk.Next()) norm.Put(walk.element(), walk.sources());
  return output.Take();
}

}  // namespace

const Operator kLpPool = {.op_type = "LpPool", .run = LpPool};

}  // namespace qtx::reference::ops
