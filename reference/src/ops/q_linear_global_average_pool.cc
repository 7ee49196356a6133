#include "ops/linear.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// Source: q_linear_global_average_pool.S1, q_linear_global_average_pool.S2.
Result<format::Tensor> QLinearGlobalAveragePool(const Call& call) {
  return UnaryCall(call).Run(kGlobalAveragePool.run);
}

}  // namespace

const Operator kQLinearGlobalAveragePool = {
    .op_type = "QLinearGlobalAveragePool", .domain = kMicrosoft, .run = QLinearGlobalAveragePool};

}  // namespace qtx::reference::ops
