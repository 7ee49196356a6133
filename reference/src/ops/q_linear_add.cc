#include "ops/linear.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// The sum of A and B, each with its parameters.  Source: q_linear_add.S1, q_linear_add.S2.
Result<format::Tensor> QLinearAdd(const Call& call) { return BinaryCall(call).Run(kAdd.run); }

}  // namespace

const Operator kQLinearAdd = {.op_type = "QLinearAdd", .domain = kMicrosoft, .run = QLinearAdd};

}  // namespace qtx::reference::ops
