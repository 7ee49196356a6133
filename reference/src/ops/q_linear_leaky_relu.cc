#include "ops/linear.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// Source: q_linear_leaky_relu.S1.
Result<format::Tensor> QLinearLeakyRelu(const Call& call) {
  return UnaryCall(call).Run(kLeakyRelu.run);
}

}  // namespace

const Operator kQLinearLeakyRelu = {
    .op_type = "QLinearLeakyRelu", .domain = kMicrosoft, .run = QLinearLeakyRelu};

}  // namespace qtx::reference::ops
