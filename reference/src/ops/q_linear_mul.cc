#include "ops/linear.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// The product of A and B, each with its parameters.  Source: q_linear_mul.S1, q_linear_mul.S2.
Result<format::Tensor> QLinearMul(const Call& call) { return BinaryCall(call).Run(kMul.run); }

}  // namespace

const Operator kQLinearMul = {.op_type = "QLinearMul", .domain = kMicrosoft, .run = QLinearMul};

}  // namespace qtx::reference::ops
