#include "arithmetic/average.h"
#include "ops/pool.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// The mean of each window.  Source: average_pool.S1 to average_pool.S4.
Result<format::Tensor> AveragePool(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Operand x, OperandAt(call, 0));
  QTX_ASSIGN_OR_RETURN(const Window window, PoolWindow(call));
  QTX_ASSIGN_OR_RETURN(Output output, Output::Of(call));
  using Kernel = Averager::Kernel;
  const bool padded = call.Int("count_include_pad") != 0 && window.HasPadding();
  const Kernel kernel = window.IsWholeInput() ? Kernel::kGlobalPool
                        : padded              ? Kernel::kPaddedPool
                                              : Kernel::kPool;
  Averager averager(call.arithmetic, x, &output, kernel);
  PoolWalk walk(call, window);
  while (walk.Next()) {
    const auto inside = static_cast<std::int64_t>(walk.sources().size());
    const std::int64_t count = padded ? walk.padded_count() : inside;
    averager.Put(walk.element(), walk.sources(), count);
  }
  return output.Take();
}

}  // namespace

const Operator kAveragePool = {.op_type = "AveragePool", .run = AveragePool};

}  // namespace qtx::reference::ops
