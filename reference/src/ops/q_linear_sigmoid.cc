#include "ops/linear.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// Source: q_linear_sigmoid.S1.
Result<format::Tensor> QLinearSigmoid(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const ExtendedCall typed, UnaryCall(call));
  return typed.Run(kSigmoid.run);
}

}  // namespace

const Operator kQLinearSigmoid = {.op_type = "QLinearSigmoid",
                                  .domain = kMicrosoft,
                                  .min_inputs = 4,
                                  .max_inputs = 5,
                                  .optional_inputs = kUnaryZeroPoints,
                                  .attributes = {},
                                  .run = QLinearSigmoid};

}  // namespace qtx::reference::ops
