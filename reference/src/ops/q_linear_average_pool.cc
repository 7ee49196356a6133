#include "ops/linear.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// Source: q_linear_average_pool.S1, q_linear_average_pool.S2.
Result<format::Tensor> QLinearAveragePool(const Call& call) {
  return UnaryCall(call).Run(kAveragePool.run);
}

}  // namespace

const Operator kQLinearAveragePool = {
    .op_type = "QLinearAveragePool", .domain = kMicrosoft, .run = QLinearAveragePool};

}  // namespace qtx::reference::ops
