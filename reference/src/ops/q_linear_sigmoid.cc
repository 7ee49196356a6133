#include "ops/linear.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// Source: q_linear_sigmoid.S1.
Result<format::Tensor> QLinearSigmoid(const Call& call) {
  return UnaryCall(call).Run(kSigmoid.run);
}

}  // namespace

const Operator kQLinearSigmoid = {
    .op_type = "QLinearSigmoid", .domain = kMicrosoft, .run = QLinearSigmoid};

}  // namespace qtx::reference::ops
