// One matrix product over views of the operands, shared by Gemm and MatMul.
#pragma once

#include <cstdint>
#include <span>

#include "arithmetic/product.h"

namespace qtx::reference {

/// Shape and strides, in elements, of a matrix inside an operand.
struct MatrixView {
  std::int64_t rows = 1, columns = 1, row_stride = 1, column_stride = 1;
};
MatrixView Transposed(const MatrixView& view);

/// left[M, K] of operand x beginning at element x_start, times right[K, N] of operand w beginning
/// at w_start, gives output elements from y_start on, row-major.
struct MatrixProduct {
  MatrixView left, right;
  std::int64_t x_start = 0, w_start = 0, y_start = 0;
};

/// Puts every element; the channel of an element is its column. `bias`: index into the bias for
/// each element of the product, or empty.
void MultiplyMatrices(const ProductOperands& operands, const MatrixProduct& product,
                      std::span<const std::int64_t> bias, ProductSum* sum);

}  // namespace qtx::reference
