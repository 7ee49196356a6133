// Matrix products in blocks. Results do not depend on the blocks: every element is one chain of
// fused multiply-adds over ascending k.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "float/operator.h"

namespace qtx::backend::floats {

/// A matrix of elements data[row * row_step + column * column_step].
struct Matrix {
  const float* data = nullptr;
  std::int64_t row_step = 0, column_step = 1;
};

/// Rows as tiles take them: for each tile of kernels.rows rows (the last may have fewer) depth
/// groups of one element of each row. Tile i begins at i * kernels.rows * depth.
void PackRows(const Kernels& kernels, const Matrix& a, std::int64_t rows, std::int64_t depth,
              float* packed);
std::vector<float> PackRows(const Kernels& kernels, const Matrix& a, std::int64_t rows,
                            std::int64_t depth);

/// Columns as tiles take them: for each tile of kernels.width() columns (the last has as many
/// vectors as it needs, filled up with zeros) depth rows. Tile i begins at i * kernels.width() *
/// depth.
std::vector<float> PackColumns(const Kernels& kernels, const Matrix& b, std::int64_t columns,
                               std::int64_t depth);

/// Columns [column, column + columns) of rows [row, row + rows) of b, filled up with zeros to
/// `width` floats a row. Up to kMaxLanes elements behind them may be overwritten.
struct Block {
  std::int64_t row = 0, rows = 0, column = 0, columns = 0, width = 0;
};
void PackBlock(const Matrix& b, const Block& block, float* packed);

/// c = a * b + initial, [rows, depth] by [depth, columns].
struct MatrixProduct {
  std::int64_t rows = 0, columns = 0, depth = 0;
  const float* a = nullptr;  // PackRows
  const float* b = nullptr;  // PackColumns; nullptr: `pack` gives the blocks
  std::function<void(const Block&, float* packed)> pack;
  float* c = nullptr;
  std::int64_t stride = 0;         // of c's rows
  const float* initial = nullptr;  // of each row; nullptr: 0
  bool begins = true;              // false: c holds what the sums begin with
  const Epilogue* epilogue = nullptr;
};

/// All products have the sizes of the first.
void Multiply(const Context& context, std::span<const MatrixProduct> products);

}  // namespace qtx::backend::floats
