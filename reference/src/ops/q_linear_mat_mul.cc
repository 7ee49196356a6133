#include "ops/linear.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

using format::ElementType;

constexpr ElementType kStorage[] = {ElementType::kUint8,        ElementType::kInt8,
                                    ElementType::kFloat8E4M3FN, ElementType::kFloat8E4M3FNUZ,
                                    ElementType::kFloat8E5M2,   ElementType::kFloat8E5M2FNUZ};

// MatMul of a and b, each with its parameters.  Source: q_linear_mat_mul.S1 to .S4.
Result<format::Tensor> QLinearMatMul(const Call& call) {
  ExtendedCall product(call);
  product.Allow(kStorage);
  product.AllowScales(std::span(kScaleTypes).first(3));
  QTX_RETURN_IF_ERROR(product.Add(0, {1, 2}, RowsOf(call, 0)));
  QTX_RETURN_IF_ERROR(product.Add(3, {4, 5}, ColumnsOf(call, 3)));
  QTX_RETURN_IF_ERROR(product.SetOutput({6, 7}));
  return product.Run(kMatMul.run);
}

}  // namespace

const Operator kQLinearMatMul = {.op_type = "QLinearMatMul",
                                 .min_inputs = 8,
                                 .max_inputs = 8,
                                 .attributes = {},
                                 .infer = TypeOfInput<7>,
                                 .run = QLinearMatMul};

}  // namespace qtx::reference::ops
