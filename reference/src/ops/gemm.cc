#include <cmath>
#include <utility>

#include "ops/common.h"
#include "ops/matrix.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

using format::Dims;

// The exact value of an attribute: gemm.S2.
Result<float> FactorOf(const Call& call, std::string_view name) {
  const float factor = call.Float(name);
  if (std::isfinite(factor)) return factor;
  return Error{ErrorCode::kInvalid, "attribute '" + std::string(name) + "'",
               "is not a finite number"};
}

// Rows and columns of a rank-2 operand, exchanged when `transposed`.
MatrixView ViewOf(const Dims& dims, bool transposed) {
  const MatrixView view{dims[0], dims[1], dims[1], 1};
  return transposed ? Transposed(view) : view;
}

// y = alpha * A' * B' + beta * C.  Source: gemm.S1 to gemm.S4.
Result<format::Tensor> Gemm(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Operand a, OperandAt(call, 0));
  QTX_ASSIGN_OR_RETURN(const Operand b, OperandAt(call, 1));
  QTX_ASSIGN_OR_RETURN(const std::optional<Operand> c, OptionalOperandAt(call, 2));
  const bool transposed_b = call.Int("transB") != 0;
  const MatrixView left = ViewOf(a.tensor().dims, call.Int("transA") != 0);
  const MatrixView right = ViewOf(b.tensor().dims, transposed_b);
  QTX_ASSIGN_OR_RETURN(Output output, Output::Of(call));
  std::vector<std::int64_t> bias;
  if (c) bias = BroadcastIndices(c->tensor().dims, output.tensor().dims);
  ProductOperands operands{&a, &b, PointerTo(c), transposed_b ? 0 : 1};
  if (call.positions.empty()) {
    QTX_ASSIGN_OR_RETURN(operands.alpha, FactorOf(call, "alpha"));
    QTX_ASSIGN_OR_RETURN(operands.beta, FactorOf(call, "beta"));
  } else {
    operands.factor = call.Float("alpha");  // q_gemm.S2: it is a scale, that of the bias too
  }
  ProductSum sum(call, operands, &output);
  MultiplyMatrices(operands, {left, right, 0, 0, 0}, bias, &sum);
  return output.Take();
}

}  // namespace

const Operator kGemm = {.op_type = "Gemm", .run = Gemm};

}  // namespace qtx::reference::ops
