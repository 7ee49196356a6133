// Shapes of MatMul and Gemm, and their general path.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/plan.h"

namespace qtx::backend::engine {

/// y[i] = a[i] x b[i] for each matrix i of y.  Shapes: a [rows, depth], b [depth, columns], or
/// transposed.
struct MatrixShape {
  std::int64_t rows = 0, depth = 0, columns = 0;
  bool transpose_a = false, transpose_b = false;
  std::int64_t column_axis = -1;  // of b; -1 when b is a vector
  // Matrix index of each operand for each matrix of y, after broadcasting.
  std::vector<std::int64_t> a_matrix, b_matrix;
  format::Dims dims;  // of y
};

/// Errors: kUnsupported for a batch above 2^24.
Result<MatrixShape> MatMulShapeOf(const NodePlan& node);
Result<MatrixShape> GemmShapeOf(const NodePlan& node);

}  // namespace qtx::backend::engine
