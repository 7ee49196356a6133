#include "ops/linear.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// MatMul over A - a_zero_point and B - b_zero_point.  Source: mat_mul_integer.S1 to .S3.
Result<format::Tensor> MatMulInteger(const Call& call) {
  ExtendedCall product(call);
  product.Add(0, {kNoInput, 2}, RowsOf(call, 0));
  product.Add(1, {kNoInput, 3}, ColumnsOf(call, 1));
  return product.Run(kMatMul.run);
}

}  // namespace

const Operator kMatMulInteger = {.op_type = "MatMulInteger", .run = MatMulInteger};

}  // namespace qtx::reference::ops
