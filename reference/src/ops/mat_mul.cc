#include "ops/common.h"
#include "ops/matrix.h"
#include "ops/registry.h"
#include "parameters.h"

namespace qtx::reference::ops {
namespace {

using format::Dims;

Dims Leading(const Dims& dims) {
  return dims.size() < 2 ? Dims{} : Dims(dims.begin(), dims.end() - 2);
}

// The last two dimensions. Rank 1 is a row on the left and a column on the right (mat_mul.S3).
MatrixView LastTwo(const Dims& dims, bool left) {
  if (dims.size() == 1) {
    return left ? MatrixView{1, dims[0], dims[0], 1} : MatrixView{dims[0], 1, 1, 1};
  }
  const std::int64_t columns = dims.back();
  return {dims[dims.size() - 2], columns, columns, 1};
}

// y[..., i, j] = sum over k of a[..., i, k] * b[..., k, j].  Source: mat_mul.S1 to mat_mul.S4.
Result<format::Tensor> MatMul(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Operand a, OperandAt(call, 0));
  QTX_ASSIGN_OR_RETURN(const Operand b, OperandAt(call, 1));
  const Dims& ad = a.tensor().dims;
  const Dims& bd = b.tensor().dims;
  MatrixProduct product{LastTwo(ad, true), LastTwo(bd, false), 0, 0, 0};
  QTX_ASSIGN_OR_RETURN(Output output, Output::Of(call));
  Dims batch = output.tensor().dims;
  batch.resize(batch.size() - (ad.size() > 1 ? 1 : 0) - (bd.size() > 1 ? 1 : 0));
  QTX_RETURN_IF_ERROR(CheckComputable(batch));  // beside an axis of size 0, too
  // Output channels are b's columns; a rank-1 b has one, so none of its axes counts.
  const auto axis = bd.size() == 1 ? -1 : static_cast<std::int64_t>(bd.size()) - 1;
  const auto y_rank = static_cast<std::int64_t>(output.tensor().dims.size());
  const ProductOperands operands{.x = &a,
                                 .w = &b,
                                 .bias = nullptr,
                                 .w_channel_axis = axis,
                                 .y_channel_axis = bd.size() == 1 ? -1 : y_rank - 1};
  ProductSum sum(call, operands, &output);
  const std::vector<std::int64_t> a_batches = BroadcastIndices(Leading(ad), batch);
  const std::vector<std::int64_t> b_batches = BroadcastIndices(Leading(bd), batch);
  for (std::size_t i = 0; i < a_batches.size(); ++i) {
    product.x_start = a_batches[i] * product.left.rows * product.left.columns;
    product.w_start = b_batches[i] * product.right.rows * product.right.columns;
    product.y_start = static_cast<std::int64_t>(i) * product.left.rows * product.right.columns;
    MultiplyMatrices(operands, product, {}, &sum);
  }
  return output.Take();
}

}  // namespace

const Operator kMatMul = {.op_type = "MatMul", .run = MatMul};

}  // namespace qtx::reference::ops
