#include "ops/linear.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// The sum of A and B, each with its parameters.  Source: q_linear_add.S1, q_linear_add.S2.
Result<format::Tensor> QLinearAdd(const Call& call) {
  ExtendedCall binary(call);
  QTX_RETURN_IF_ERROR(binary.Add(0, {1, 2}));
  QTX_RETURN_IF_ERROR(binary.Add(3, {4, 5}));
  QTX_RETURN_IF_ERROR(binary.SetOutput({6, 7}));
  QTX_RETURN_IF_ERROR(binary.CheckOneType());
  return binary.Run(kAdd.run);
}

}  // namespace

const Operator kQLinearAdd = {.op_type = "QLinearAdd",
                              .domain = kMicrosoft,
                              .min_inputs = 7,
                              .max_inputs = 8,
                              .optional_inputs = kBinaryZeroPoints,
                              .attributes = {},
                              .run = QLinearAdd};

}  // namespace qtx::reference::ops
