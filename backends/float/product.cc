#include "float/product.h"

#include <algorithm>
#include <cstring>

namespace qtx::backend::floats {
namespace {

// Strips that a tile of rows is multiplied with while it is in the first cache, about.
constexpr std::int64_t kStrips = 4;
// Their block of columns stays in the second.
constexpr std::int64_t kBlockFloats = 65536;
// With fewer rows, packing the columns once more takes longer than it saves.
constexpr std::int64_t kFewestRows = 64;

std::int64_t CeilDivide(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Columns of one tile's width, or fewer.
struct Strip {
  std::int64_t column = 0, columns = 0, vectors = 0, width = 0;
  std::int64_t panel = 0;  // where its block begins
  bool partial() const { return columns != width; }
};

// A task: some strips by some rows of one product.
class Task {
 public:
  Task(const Context& context, const MatrixProduct& product, std::int64_t column,
       std::int64_t end_column, std::int64_t first_row, std::int64_t end_row)
      : kernels_(context.kernels),
        p_(product),
        first_row_(first_row),
        end_row_(end_row),
        end_column_(end_column),
        block_depth_(std::min(p_.depth, kBlockFloats / (end_column_ - column))),
        strips_(StripsFrom(column)),
        panels_(context.buffers, p_.b == nullptr ? PanelSize() : 0),
        edge_(context.buffers,
              strips_.back().partial() ? (end_row - first_row) * strips_.back().width : 0) {}

  void Run() {
    const bool partial = strips_.back().partial();
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
  std::vector<Strip> StripsFrom(std::int64_t column) const {
    std::vector<Strip> strips;
    for (std::int64_t panel = 0; column < end_column_; column += kernels_.width()) {
      const std::int64_t columns = std::min(kernels_.width(), end_column_ - column);
      const std::int64_t vectors = CeilDivide(columns, kernels_.lanes);
      strips.push_back({column, columns, vectors, vectors * kernels_.lanes, panel});
      panel += block_depth_ * strips.back().width;
    }
    return strips;
  }

  std::int64_t PanelSize() const {
    return strips_.back().panel + block_depth_ * strips_.back().width;
  }

  void RunBlock(std::int64_t k, std::int64_t depth) {
    if (p_.b == nullptr) {
      for (const Strip& strip : strips_) {
        p_.pack({k, depth, strip.column, strip.columns, strip.width}, panels_.data() + strip.panel);
      }
    }
    for (std::int64_t row = first_row_; row < end_row_; row += kernels_.rows) {
      for (const Strip& strip : strips_) RunTile(strip, row, k, depth);
    }
  }

  void RunTile(const Strip& strip, std::int64_t row, std::int64_t k, std::int64_t depth) {
    const std::int64_t rows = std::min<std::int64_t>(kernels_.rows, end_row_ - row);
    Tile tile;
    tile.a = p_.a + row * p_.depth + k * rows;
    tile.b = p_.b == nullptr ? panels_.data() + strip.panel
                             : p_.b + strip.column * p_.depth + k * strip.width;
    tile.depth = depth;
    tile.c = strip.partial() ? edge_.data() + (row - first_row_) * strip.width
                             : p_.c + row * p_.stride + strip.column;
    tile.stride = strip.partial() ? strip.width : p_.stride;
    tile.initial = p_.initial == nullptr ? nullptr : p_.initial + row;
    tile.begins = p_.begins && k == 0;
    kernels_.tile[strip.vectors - 1][rows - 1](tile);
    if (p_.epilogue != nullptr && k + depth == p_.depth) {
      kernels_.finish(tile.c, tile.stride, static_cast<int>(rows), static_cast<int>(strip.vectors),
                      p_.epilogue->From(row));
    }
  }

  // Sums of columns that do not fill their vectors are stored separately.
  void CopyEdge(bool in) {
    const Strip& strip = strips_.back();
    for (std::int64_t row = first_row_; row < end_row_; ++row) {
      float* edge = edge_.data() + (row - first_row_) * strip.width;
      float* c = p_.c + row * p_.stride + strip.column;
      std::memcpy(in ? edge : c, in ? c : edge,
                  static_cast<std::size_t>(strip.columns) * sizeof(float));
    }
  }

  const Kernels& kernels_;
  const MatrixProduct& p_;
  std::int64_t first_row_, end_row_, end_column_, block_depth_;
  std::vector<Strip> strips_;
  Scratch panels_, edge_;
};

std::int64_t MultiplyAdds(std::span<const MatrixProduct> products) {
  const MatrixProduct& first = products[0];
  return std::ssize(products) * first.rows * first.columns * std::max<std::int64_t>(first.depth, 1);
}

// Products whose columns are packed before they are shared out by rows, or left as they are.
class PackedOnce {
 public:
  PackedOnce(const Context& context, std::span<const MatrixProduct> products, bool by_rows)
      : products_(products.begin(), products.end()),
        width_(context.kernels.width()),
        lanes_(context.kernels.lanes),
        size_(CeilDivide(products[0].columns, lanes_) * lanes_ * products[0].depth),
        packed_(context.buffers,
                by_rows && products[0].b == nullptr ? std::ssize(products) * size_ : 0) {
    if (!by_rows || products[0].b != nullptr) return;
    const std::int64_t strips = CeilDivide(products[0].columns, width_);
    context.workers.For(std::ssize(products) * strips, MultiplyAdds(products),
                        [&](std::int64_t i) { Pack(i / strips, i % strips); });
    for (std::size_t i = 0; i < products_.size(); ++i) {
      products_[i].b = packed_.data() + static_cast<std::int64_t>(i) * size_;
    }
  }

  std::span<const MatrixProduct> products() const { return products_; }

 private:
  void Pack(std::int64_t product, std::int64_t strip) {
    const MatrixProduct& p = products_[static_cast<std::size_t>(product)];
    const std::int64_t column = strip * width_;
    const std::int64_t columns = std::min(width_, p.columns - column);
    const std::int64_t width = CeilDivide(columns, lanes_) * lanes_;
    p.pack({0, p.depth, column, columns, width},
           packed_.data() + product * size_ + column * p.depth);
  }

  std::vector<MatrixProduct> products_;
  std::int64_t width_, lanes_, size_;
  Scratch packed_;
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
  const std::int64_t most_groups = std::max<std::int64_t>(1, strips / kStrips);
  const std::int64_t group = CeilDivide(strips, most_groups) * context.kernels.width();
  const std::int64_t groups = CeilDivide(first.columns, group);
  // Several tasks per thread, so that no thread waits long for the last one.
  const std::int64_t tasks = context.workers.count() == 1 ? 1 : 4 * context.workers.count();
  const std::int64_t wanted = CeilDivide(tasks, groups * count);
  const std::int64_t step_rows = std::max(kFewestRows, CeilDivide(first.rows, wanted));
  const std::int64_t step = CeilDivide(step_rows, context.kernels.rows) * context.kernels.rows;
  const std::int64_t chunks = CeilDivide(first.rows, step);
  const PackedOnce packed(context, products, chunks > 1);
  context.workers.For(count * groups * chunks, MultiplyAdds(products), [&](std::int64_t i) {
    const std::int64_t row = i % chunks * step;
    const std::int64_t column = i / chunks % groups * group;
    const MatrixProduct& product = packed.products()[static_cast<std::size_t>(i / chunks / groups)];
    Task(context, product, column, std::min(first.columns, column + group), row,
         std::min(first.rows, row + step))
        .Run();
  });
}

}  // namespace qtx::backend::floats
