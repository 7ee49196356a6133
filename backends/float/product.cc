#include "float/product.h"

#include <algorithm>
#include <cstring>

namespace qtx::backend::floats {
namespace {

// A block of columns stays in the first cache while the rows go by.
constexpr std::int64_t kBlockFloats = 6144;
// Fewer rows do not pay for packing the columns once more.
constexpr std::int64_t kFewestRows = 64;

std::int64_t CeilDivide(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// A task: one tile's width of columns by some rows of one product.
class Task {
 public:
  Task(const Context& context, const MatrixProduct& product, std::int64_t column,
       std::int64_t first_row, std::int64_t end_row)
      : kernels_(context.kernels),
        p_(product),
        column_(column),
        columns_(std::min(kernels_.width(), p_.columns - column)),
        vectors_(CeilDivide(columns_, kernels_.lanes)),
        width_(vectors_ * kernels_.lanes),
        first_row_(first_row),
        end_row_(end_row),
        block_depth_(kBlockFloats / width_),
        panel_(context.buffers, p_.b == nullptr ? block_depth_ * width_ : 0),
        edge_(context.buffers, width_ == columns_ ? 0 : (end_row - first_row) * width_) {}

  void Run() {
    const bool partial = width_ != columns_;
    if (partial && !p_.begins) CopyEdge(true);
    std::int64_t k = 0;
    do {  // once even where there is nothing to add
      const std::int64_t depth = std::min(block_depth_, p_.depth - k);
      RunBlock(k, depth);
      k += depth;
    } while (k < p_.depth);
    if (partial) CopyEdge(false);
  }

 private:
  void RunBlock(std::int64_t k, std::int64_t depth) {
    Tile tile;
    tile.depth = depth;
    tile.begins = p_.begins && k == 0;
    if (p_.b != nullptr) {
      tile.b = p_.b + column_ * p_.depth + k * width_;
    } else {
      p_.pack({k, depth, column_, columns_, width_}, panel_.data());
      tile.b = panel_.data();
    }
    const bool partial = width_ != columns_;
    tile.stride = partial ? width_ : p_.stride;
    for (std::int64_t row = first_row_; row < end_row_; row += kernels_.rows) {
      const std::int64_t rows = std::min<std::int64_t>(kernels_.rows, end_row_ - row);
      tile.a = p_.a + row * p_.depth + k * rows;
      tile.c =
          partial ? edge_.data() + (row - first_row_) * width_ : p_.c + row * p_.stride + column_;
      tile.initial = p_.initial == nullptr ? nullptr : p_.initial + row;
      kernels_.tile[vectors_ - 1][rows - 1](tile);
      if (p_.epilogue != nullptr && k + depth == p_.depth) {
        kernels_.finish(tile.c, tile.stride, static_cast<int>(rows), static_cast<int>(vectors_),
                        p_.epilogue->From(row));
      }
    }
  }

  // Of columns that do not fill their vectors the sums are kept apart.
  void CopyEdge(bool in) {
    for (std::int64_t row = first_row_; row < end_row_; ++row) {
      float* edge = edge_.data() + (row - first_row_) * width_;
      float* c = p_.c + row * p_.stride + column_;
      std::memcpy(in ? edge : c, in ? c : edge, static_cast<std::size_t>(columns_) * sizeof(float));
    }
  }

  const Kernels& kernels_;
  const MatrixProduct& p_;
  std::int64_t column_, columns_, vectors_, width_, first_row_, end_row_, block_depth_;
  Scratch panel_, edge_;
};

}  // namespace

void PackRows(const Kernels& kernels, const Matrix& a, std::int64_t rows, std::int64_t depth,
              float* packed) {
  for (std::int64_t row = 0; row < rows; row += kernels.rows) {
    const std::int64_t n = std::min<std::int64_t>(kernels.rows, rows - row);
    for (std::int64_t r = 0; r < n; ++r) {
      const float* from = a.data + (row + r) * a.row_step;
      for (std::int64_t k = 0; k < depth; ++k) packed[k * n + r] = from[k * a.column_step];
    }
    packed += n * depth;
  }
}

std::vector<float> PackRows(const Kernels& kernels, const Matrix& a, std::int64_t rows,
                            std::int64_t depth) {
  std::vector<float> packed(static_cast<std::size_t>(rows * depth));
  PackRows(kernels, a, rows, depth, packed.data());
  return packed;
}

void PackBlock(const Matrix& b, const Block& block, float* packed) {
  const float* from = b.data + block.row * b.row_step + block.column * b.column_step;
  for (std::int64_t k = 0; k < block.rows; ++k, packed += block.width, from += b.row_step) {
    if (b.column_step == 1) {
      std::memcpy(packed, from, static_cast<std::size_t>(block.columns) * sizeof(float));
    } else {
      for (std::int64_t j = 0; j < block.columns; ++j) packed[j] = from[j * b.column_step];
    }
    std::fill(packed + block.columns, packed + block.width, 0.0F);
  }
}

std::vector<float> PackColumns(const Kernels& kernels, const Matrix& b, std::int64_t columns,
                               std::int64_t depth) {
  const std::int64_t padded = CeilDivide(columns, kernels.lanes) * kernels.lanes;
  std::vector<float> packed(static_cast<std::size_t>(padded * depth));
  for (std::int64_t column = 0; column < columns; column += kernels.width()) {
    const std::int64_t n = std::min(kernels.width(), columns - column);
    const std::int64_t width = CeilDivide(n, kernels.lanes) * kernels.lanes;
    PackBlock(b, {0, depth, column, n, width}, packed.data() + column * depth);
  }
  return packed;
}

void Multiply(const Context& context, std::span<const MatrixProduct> products) {
  if (products.empty() || products[0].rows == 0 || products[0].columns == 0) return;
  const MatrixProduct& first = products[0];
  const std::int64_t count = std::ssize(products);
  const std::int64_t strips = CeilDivide(first.columns, context.kernels.width());
  // A few tasks a thread, so that none waits long for the last.
  const std::int64_t wanted = CeilDivide(4 * context.workers.count(), strips * count);
  const std::int64_t step_rows = std::max(kFewestRows, CeilDivide(first.rows, wanted));
  const std::int64_t step = CeilDivide(step_rows, context.kernels.rows) * context.kernels.rows;
  const std::int64_t chunks = CeilDivide(first.rows, step);
  context.workers.For(count * strips * chunks,
                      count * first.rows * first.columns * std::max<std::int64_t>(first.depth, 1),
                      [&](std::int64_t i) {
                        const std::int64_t row = i % chunks * step;
                        const std::int64_t column = i / chunks % strips * context.kernels.width();
                        const MatrixProduct& product =
                            products[static_cast<std::size_t>(i / chunks / strips)];
                        Task(context, product, column, row, std::min(first.rows, row + step)).Run();
                      });
}

}  // namespace qtx::backend::floats
