#include "ops/linear.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// Source: q_linear_mul.S2.
Result<format::Tensor> MultiplyScaled(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Operand a, OperandAt(call, 0));
  QTX_ASSIGN_OR_RETURN(const Operand b, OperandAt(call, 1));
  QTX_ASSIGN_OR_RETURN(const format::Dims dims, Broadcast(a.tensor().dims, b.tensor().dims));
  const std::vector<std::int64_t> ia = BroadcastIndices(a.tensor().dims, dims);
  const std::vector<std::int64_t> ib = BroadcastIndices(b.tensor().dims, dims);
  std::vector<std::int32_t> products;
  for (std::size_t i = 0; i < ia.size(); ++i) {
    products.push_back(static_cast<std::int32_t>(a.integer(ia[i]) * b.integer(ib[i])));
  }
  const float multiplier = a.scale(0) * b.scale(0) / call.outputs[0].quantization->scale[0];
  return QuantizeScaled(call, dims, products, multiplier);
}

Result<format::Tensor> Multiply(const Call& call) {
  return call.arithmetic.domain == Domain::kFloat32 ? MultiplyScaled(call) : kMul.run(call);
}

// The product of A and B, each with its parameters.  Source: q_linear_mul.S1, q_linear_mul.S2.
Result<format::Tensor> QLinearMul(const Call& call) {
  ExtendedCall binary(call);
  QTX_RETURN_IF_ERROR(binary.Add(0, {1, 2}));
  QTX_RETURN_IF_ERROR(binary.Add(3, {4, 5}));
  QTX_RETURN_IF_ERROR(binary.SetOutput({6, 7}));
  QTX_RETURN_IF_ERROR(binary.CheckOneType());
  binary.AddOffsetFirst();
  return binary.Run(Multiply);
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
