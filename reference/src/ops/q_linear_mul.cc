#include "ops/linear.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// The product of A and B, each with its parameters.  Source: q_linear_mul.S1, q_linear_mul.S2.
Result<format::Tensor> QLinearMul(const Call& call) {
  ExtendedCall binary(call);
  QTX_RETURN_IF_ERROR(binary.Add(0, {1, 2}));
  QTX_RETURN_IF_ERROR(binary.Add(3, {4, 5}));
  QTX_RETURN_IF_ERROR(binary.SetOutput({6, 7}));
  QTX_RETURN_IF_ERROR(binary.CheckOneType());
  return binary.Run(kMul.run);
}

}  // namespace

const Operator kQLinearMul = {.op_type = "QLinearMul",
                              .domain = kMicrosoft,
                              .min_inputs = 7,
                              .max_inputs = 8,
                              .optional_inputs = kBinaryZeroPoints,
                              .attributes = {},
                              .run = QLinearMul};

}  // namespace qtx::reference::ops
