#include "ops/matrix.h"

#include "ops/common.h"

namespace qtx::reference {
namespace {

// The integers of a view, row after row without gaps.
template <typename T>
std::vector<T> Rows(const Operand& operand, const MatrixView& view, std::int64_t start) {
  std::vector<T> rows;
  rows.reserve(static_cast<std::size_t>(view.rows * view.columns));
  for (std::int64_t r = 0; r < view.rows; ++r) {
    for (std::int64_t c = 0; c < view.columns; ++c) {
      const std::int64_t i = start + r * view.row_stride + c * view.column_stride;
      rows.push_back(static_cast<T>(operand.integer(i)));
    }
  }
  return rows;
}

template <typename T>
void MultiplyIntegers(const ProductOperands& operands, const MatrixProduct& product,
                      std::span<const std::int64_t> bias, ProductSum* sum) {
  const std::vector<T> left = Rows<T>(*operands.x, product.left, product.x_start);
  const std::vector<T> right = Rows<T>(*operands.w, Transposed(product.right), product.w_start);
  const std::int64_t length = product.left.columns;
  const std::int64_t columns = product.right.columns;
  for (std::int64_t r = 0; r < product.left.rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) {
      const std::int64_t dot =
          sum->Sum(left.data() + r * length, right.data() + c * length, length);
      const std::int64_t i = r * columns + c;
      sum->PutAccumulator(product.y_start + i, c, dot,
                          bias.empty() ? 0 : bias[static_cast<std::size_t>(i)]);
    }
  }
}

void MultiplyReals(const MatrixProduct& product, std::span<const std::int64_t> bias,
                   ProductSum* sum) {
  const auto length = static_cast<std::size_t>(product.left.columns);
  std::vector<std::int64_t> xs(length);
  std::vector<std::int64_t> ws(length);
  for (std::int64_t r = 0; r < product.left.rows; ++r) {
    for (std::int64_t c = 0; c < product.right.columns; ++c) {
      for (std::size_t k = 0; k < length; ++k) {
        const auto step = static_cast<std::int64_t>(k);
        xs[k] = product.x_start + r * product.left.row_stride + step * product.left.column_stride;
        ws[k] = product.w_start + step * product.right.row_stride + c * product.right.column_stride;
      }
      const std::int64_t i = r * product.right.columns + c;
      sum->PutPairs(product.y_start + i, c, bias.empty() ? 0 : bias[static_cast<std::size_t>(i)],
                    xs, ws);
    }
  }
}

}  // namespace

MatrixView Transposed(const MatrixView& view) {
  return {view.columns, view.rows, view.column_stride, view.row_stride};
}

void MultiplyMatrices(const ProductOperands& operands, const MatrixProduct& product,
                      std::span<const std::int64_t> bias, ProductSum* sum) {
  if (!sum->integer()) return MultiplyReals(product, bias, sum);
  if (sum->narrow()) return MultiplyIntegers<std::int16_t>(operands, product, bias, sum);
  MultiplyIntegers<std::int32_t>(operands, product, bias, sum);
}

}  // namespace qtx::reference
