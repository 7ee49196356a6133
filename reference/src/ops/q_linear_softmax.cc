#include "ops/linear.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// Softmax of the version that `opset` names.  Source: q_linear_softmax.S1, q_linear_softmax.S2.
Result<format::Tensor> QLinearSoftmax(const Call& call) {
  return UnaryCall(call).Run(kSoftmax.run, call.Int("opset"));
}

}  // namespace

const Operator kQLinearSoftmax = {
    .op_type = "QLinearSoftmax", .domain = kMicrosoft, .run = QLinearSoftmax};

}  // namespace qtx::reference::ops
