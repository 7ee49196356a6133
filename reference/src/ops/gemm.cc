#include <cmath>
#include <utility>

#include "ops/common.h"
#include "ops/matrix.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

using format::AttributeType;
using format::Dims;

Result<void> CheckFactors(const format::Node& node) {
  for (const char* name : {"alpha", "beta"}) {
    if (!std::isfinite(node.FloatOr(name, 1.0F))) {
      return Error{ErrorCode::kInvalid, "attribute '" + std::string(name) + "'",
                   "is not a finite number"};
    }
  }
  return {};
}

// Rows and columns of a rank-2 operand, exchanged when `transposed`.
MatrixView ViewOf(const Dims& dims, bool transposed) {
  const MatrixView view{dims[0], dims[1], dims[1], 1};
  return transposed ? Transposed(view) : view;
}

// y = alpha * A' * B' + beta * C.  Source: gemm.S1 to gemm.S4.
Result<format::Tensor> Gemm(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Operand a, NumberAt(call, 0));
  QTX_ASSIGN_OR_RETURN(const Operand b, NumberAt(call, 1));
  QTX_ASSIGN_OR_RETURN(const std::optional<Operand> c, BiasAt(call, 2));
  if (a.tensor().dims.size() != 2 || b.tensor().dims.size() != 2) {
    return Error{ErrorCode::kInvalid, InputName(call, a.tensor().dims.size() != 2 ? 0 : 1),
                 "expected rank 2"};
  }
  const bool transposed_b = call.node.IntOr("transB", 0) != 0;
  const MatrixView left = ViewOf(a.tensor().dims, call.node.IntOr("transA", 0) != 0);
  const MatrixView right = ViewOf(b.tensor().dims, transposed_b);
  QTX_RETURN_IF_ERROR(CheckInner(call, left, right));
  const Dims dims = {left.rows, right.columns};
  std::vector<std::int64_t> bias;
  if (c) {
    QTX_ASSIGN_OR_RETURN(const Dims broadcast, Broadcast(c->tensor().dims, dims));
    if (broadcast != dims) {
      return Error{ErrorCode::kInvalid, InputName(call, 2),
                   "found shape " + format::ToString(c->tensor().dims) +
                       ", which does not broadcast to " + format::ToString(dims)};
    }
    bias = BroadcastIndices(c->tensor().dims, dims);
  }
  QTX_ASSIGN_OR_RETURN(Output output, Output::Make(call, dims));
  ProductOperands operands{&a,
                           &b,
                           PointerTo(c),
                           transposed_b ? 0 : 1,
                           call.node.FloatOr("alpha", 1.0F),
                           call.node.FloatOr("beta", 1.0F)};
  // q_gemm.S2: of QGemm alpha is a scale, that of the bias too.
  if (!call.positions.empty()) std::swap(operands.alpha, operands.factor);
  ProductSum sum(call, operands, &output);
  MultiplyMatrices(operands, {left, right, 0, 0, 0}, bias, &sum);
  return output.Take();
}

constexpr AttributeRule kGemmAttributes[] = {
    {"alpha", AttributeType::kFloat},
    {"beta", AttributeType::kFloat},
    {"transA", AttributeType::kInt},
    {"transB", AttributeType::kInt},
};

}  // namespace

const Operator kGemm = {.op_type = "Gemm",
                        .min_inputs = 2,
                        .max_inputs = 3,
                        .attributes = kGemmAttributes,
                        .check = CheckFactors,
                        .run = Gemm};

}  // namespace qtx::reference::ops
