#include "ops/matrix.h"

#include <algorithm>

#include "aligned_rows.h"
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

// Views of rows [first, first + count) of a matrix that begins at element `start`.
RowsView RowsAt(const MatrixView& view, std::int64_t start, std::int64_t first,
                std::int64_t count) {
  return {start + first * view.row_stride, count, view.columns, view.row_stride,
          view.column_stride};
}

std::vector<float> Floats(const Operand& operand, const RowsView& view) {
  std::vector<float> floats;
  floats.reserve(static_cast<std::size_t>(view.rows * view.length));
  for (std::int64_t row = 0; row < view.rows; ++row) {
    for (std::int64_t k = 0; k < view.length; ++k) {
      floats.push_back(operand.binary32(view.At(row, k)));
    }
  }
  return floats;
}

// Operands as `Take` has them, rows of w (columns of the product) a few at a time: `put(element,
// bias, left, row, right, row)`.
template <typename Take, typename Put>
void ByRows(const ProductOperands& operands, const MatrixProduct& product,
            std::span<const std::int64_t> bias, const Take& take, const Put& put) {
  constexpr std::int64_t kRows = 32;
  const MatrixView columns = Transposed(product.right);
  const auto left = take(*operands.x, RowsAt(product.left, product.x_start, 0, product.left.rows));
  for (std::int64_t first = 0; first < columns.rows; first += kRows) {
    const std::int64_t count = std::min(kRows, columns.rows - first);
    const auto right = take(*operands.w, RowsAt(columns, product.w_start, first, count));
    for (std::int64_t r = 0; r < product.left.rows; ++r) {
      for (std::int64_t c = 0; c < count; ++c) {
        const std::int64_t i = r * columns.rows + first + c;
        put(product.y_start + i, bias.empty() ? 0 : bias[static_cast<std::size_t>(i)], left, r,
            right, c);
      }
    }
  }
}

void MultiplyExactly(const ProductOperands& operands, const MatrixProduct& product,
                     std::span<const std::int64_t> bias, ProductSum* sum) {
  const auto take = [](const Operand& operand, const RowsView& view) {
    return AlignedRows(operand, view);
  };
  ByRows(operands, product, bias, take,
         [sum](std::int64_t element, std::int64_t addend, const AlignedRows& left, std::int64_t r,
               const AlignedRows& right, std::int64_t c) {
           sum->PutExact(element, addend, AlignedRows::Product(left, r, right, c));
         });
}

void MultiplyFloats(const ProductOperands& operands, const MatrixProduct& product,
                    std::span<const std::int64_t> bias, ProductSum* sum) {
  const std::int64_t length = product.left.columns;
  const auto row = [length](const std::vector<float>& rows, std::int64_t i) {
    return std::span(rows).subspan(static_cast<std::size_t>(i * length),
                                   static_cast<std::size_t>(length));
  };
  ByRows(operands, product, bias, Floats,
         [&](std::int64_t element, std::int64_t addend, const std::vector<float>& left,
             std::int64_t r, const std::vector<float>& right,
             std::int64_t c) { sum->PutFloats(element, addend, row(left, r), row(right, c)); });
}

// Integers of 32 bits, whose sums need more than 64.
void MultiplyWide(const MatrixProduct& product, std::span<const std::int64_t> bias,
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
  if (sum->exact()) return MultiplyExactly(operands, product, bias, sum);
  if (sum->in_binary32()) return MultiplyFloats(operands, product, bias, sum);
  if (!sum->integer()) return MultiplyWide(product, bias, sum);
  if (sum->narrow()) return MultiplyIntegers<std::int16_t>(operands, product, bias, sum);
  MultiplyIntegers<std::int32_t>(operands, product, bias, sum);
}

}  // namespace qtx::reference
