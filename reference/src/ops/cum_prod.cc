#include "arithmetic/running_product.h"
#include "ops/registry.h"
#include "ops/running.h"

namespace qtx::reference::ops {
namespace {

// Source: cum_prod.S1 to cum_prod.S3.
Result<format::Tensor> CumProd(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Operand x, OperandAt(call, 0));
  QTX_ASSIGN_OR_RETURN(Output output, Output::Of(call));
  const bool exclusive = call.Int("exclusive") != 0;
  RunningProduct product(call.arithmetic, x, &output);
  ForEachRunningLine(call, [&](std::int64_t first, std::int64_t step, std::int64_t count) {
    product.Reset();
    for (std::int64_t k = 0, at = first; k < count; ++k, at += step) {
      if (exclusive) product.Put(at);
      product.Multiply(at);
      if (!exclusive) product.Put(at);
    }
  });
  return output.Take();
}

}  // namespace

const Operator kCumProd = {.op_type = "CumProd", .run = CumProd};

}  // namespace qtx::reference::ops
