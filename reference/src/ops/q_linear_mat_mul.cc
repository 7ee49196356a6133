#include "ops/linear.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// MatMul of a and b, each with its parameters.  Source: q_linear_mat_mul.S1 to .S4.
Result<format::Tensor> QLinearMatMul(const Call& call) {
  ExtendedCall product(call);
  product.Add(0, {1, 2}, RowsOf(call, 0));
  product.Add(3, {4, 5}, ColumnsOf(call, 3));
  product.SetOutput({6, 7});
  return product.Run(kMatMul.run);
}

}  // namespace

const Operator kQLinearMatMul = {.op_type = "QLinearMatMul", .run = QLinearMatMul};

}  // namespace qtx::reference::ops
