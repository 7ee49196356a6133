// MatMul and Gemm of reals: rows of A by panels of B, packed at preparation where B is constant.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "engine/ops/real_panels.h"
#include "engine/ops/real_product.h"

namespace qtx::backend::engine {
namespace {

constexpr std::int64_t kPanel = kMaxRealColumns;

// The integers of an operand of one scale that are int8: stored - offset.
std::optional<std::vector<std::int8_t>> BytesOf(const format::Tensor& tensor) {
  const format::ElementType storage = format::StorageOf(tensor.elem_type);
  const bool bytes =
      storage == format::ElementType::kInt8 || storage == format::ElementType::kUint8;
  if (!bytes || storage == tensor.elem_type) return std::nullopt;
  const auto parameters = PerTensorOf(tensor);
  if (!parameters.has_value()) return std::nullopt;
  std::vector<std::int8_t> integers;
  for (const std::byte byte : tensor.bytes) {
    const auto code = std::to_integer<std::uint8_t>(byte);
    const std::int64_t stored = storage == format::ElementType::kInt8
                                    ? std::int64_t{static_cast<std::int8_t>(code)}
                                    : std::int64_t{code};
    const std::int64_t integer = stored - parameters->offset;
    if (integer < -128 || integer > 127) return std::nullopt;
    integers.push_back(static_cast<std::int8_t>(integer));
  }
  return integers;
}

template <typename W, typename Results>
class RealMatMul : public Step {
 public:
  using Real = typename Results::Real;
  using Tile = void (*)(const RealTile<W, Real>&);

  // `factor`: of the products with B's elements of type W.
  RealMatMul(const NodePlan& node, const MatrixShape& shape, Results results, Tile tile,
             double factor = 1)
      : shape_(shape),
        results_(std::move(results)),
        kernels_(node.kernels()),
        threads_(node.threads()),
        tile_(tile),
        factor_(factor),
        addends_are_columns_(AddendsAreColumns()),
        offsets_(static_cast<std::size_t>(shape.depth)) {
    std::iota(offsets_.begin(), offsets_.end(), std::int64_t{0});
    if (results_.sum().b->constant) Pack();
  }

  std::string_view Path() const override { return "real products"; }
  Result<void> Run() override {
    results_.Begin();
    if (!results_.sum().b->constant) Pack();
    LoadRows();
    const auto matrices = static_cast<std::int64_t>(shape_.a_matrix.size());
    const std::int64_t panels = (shape_.columns + kPanel - 1) / kPanel;
    const std::int64_t rows = (shape_.rows + kRows - 1) / kRows;
    const std::int64_t products = matrices * shape_.rows * shape_.columns * (shape_.depth + 4);
    threads_.For(matrices * panels * rows, products / 8, [&](std::int64_t i) {
      const std::int64_t first = i % rows * kRows;
      for (std::int64_t r = first; r < std::min(first + kRows, shape_.rows); r += kMaxRows) {
        Multiply(static_cast<std::size_t>(i / rows / panels), i / rows % panels * kPanel, r);
      }
    });
    return {};
  }

 private:
  static constexpr std::int64_t kMaxRows = kMaxRealRows<Real>;
  static constexpr std::int64_t kRows = 2 * kMaxRows;  // that one thread multiplies with a panel

  void Pack() {
    panels_.clear();
    const std::int64_t size = shape_.depth * shape_.columns;
    const format::Tensor& b = results_.sum().b->tensor;
    const std::int64_t count = size == 0 ? 0 : format::ElementCount(b) / size;
    const std::int64_t row = shape_.transpose_b ? 1 : shape_.columns;
    const std::int64_t column = shape_.transpose_b ? shape_.depth : 1;
    const auto pack = [&](const W* from) {
      for (std::int64_t m = 0; m < count; ++m) {
        panels_.emplace_back(from + m * size, shape_.depth, shape_.columns, row, column, kPanel);
      }
    };
    if constexpr (sizeof(W) == 1) {
      pack(BytesOf(b)->data());
    } else if constexpr (sizeof(W) == sizeof(double)) {
      pack(RealResults::Load(b).data());
    } else if (b.elem_type == format::ElementType::kFloat) {
      pack(b.As<float>().data());
    } else {
      pack(FloatResults::Load(b).data());
    }
  }

  // Rows of A one after another, with the greatest magnitude of each.
  void LoadRows() {
    const format::Tensor& a = results_.sum().a->tensor;
    if (a.elem_type == format::ElementType::kFloat && !shape_.transpose_a) return CopyRows(a);
    rows_ = Results::Load(a);
    if (shape_.transpose_a) {
      const std::vector<Real> columns = std::exchange(rows_, std::vector<Real>(rows_.size()));
      for (std::int64_t r = 0; r < shape_.rows; ++r) {
        for (std::int64_t k = 0; k < shape_.depth; ++k) {
          rows_[static_cast<std::size_t>(r * shape_.depth + k)] =
              columns[static_cast<std::size_t>(k * shape_.rows + r)];
        }
      }
    }
    greatest_.clear();
    for (std::size_t i = 0; i < rows_.size(); i += static_cast<std::size_t>(shape_.depth)) {
      double greatest = 0;
      for (std::int64_t k = 0; k < shape_.depth; ++k) {
        greatest = std::max(greatest, std::fabs(double{rows_[i + static_cast<std::size_t>(k)]}));
      }
      greatest_.push_back(greatest);
    }
  }

  void CopyRows(const format::Tensor& a) {
    const auto floats = a.As<float>();
    rows_.resize(floats.size());
    if constexpr (sizeof(Real) == sizeof(float)) {
      std::ranges::copy(floats, rows_.begin());
    } else {
      kernels_.widen_floats(floats.data(), 1, std::ssize(floats), rows_.data());
    }
    greatest_.clear();
    const auto depth = static_cast<std::size_t>(shape_.depth);
    for (std::size_t i = 0; i < floats.size(); i += depth) {
      const bool bounded = sizeof(Real) == sizeof(double);
      greatest_.push_back(bounded ? kernels_.greatest(floats.data() + i, shape_.depth) : 0);
    }
  }

  // True if C is a row that is added to every row of y.
  bool AddendsAreColumns() const {
    const Sum& sum = results_.sum();
    if (sum.addend == nullptr) return false;
    for (std::size_t i = 0; i < sum.addend_index.size(); ++i) {
      if (sum.addend_index[i] != static_cast<std::int64_t>(i) % shape_.columns) return false;
    }
    return true;
  }

  void Multiply(std::size_t matrix, std::int64_t column, std::int64_t row) {
    const std::int64_t n = std::min(kPanel, shape_.columns - column);
    std::array<Real, static_cast<std::size_t>(kMaxRows * kPanel)> sums;
    RealTile<W, Real> tile;
    tile.row_count = static_cast<int>(std::min(kMaxRows, shape_.rows - row));
    const std::int64_t first_row = shape_.a_matrix[matrix] * shape_.rows + row;
    for (int r = 0; r < tile.row_count; ++r) {
      tile.rows[r] = rows_.data() + (first_row + r) * shape_.depth;
    }
    const bool empty = panels_.empty();  // without depth
    const RealPanels<W, Real>* b =
        empty ? nullptr : &panels_[static_cast<std::size_t>(shape_.b_matrix[matrix])];
    tile.values = empty ? nullptr : b->values.data() + column * shape_.depth;
    tile.offsets = offsets_.data();
    tile.taps = shape_.depth;
    tile.columns = PanelWidth<Real>(n);
    tile.sums = sums.data();
    tile_(tile);
    for (int r = 0; r < tile.row_count; ++r) {
      const std::int64_t y_row = static_cast<std::int64_t>(matrix) * shape_.rows + row + r;
      const double products =
          empty ? 0 : greatest_[static_cast<std::size_t>(first_row + r)] * b->greatest * factor_;
      Settle(tile, r, static_cast<std::size_t>(n), products, y_row * shape_.columns + column);
    }
  }

  // Row `r` of a tile: the first `n` sums become y from `element` on.
  void Settle(const RealTile<W, Real>& tile, int r, std::size_t n, double products,
              std::int64_t element) {
    const auto size = static_cast<std::int64_t>(n);
    std::array<float, static_cast<std::size_t>(kPanel)> copy{};
    const float* addend = Addends(element, size, copy.data());
    const double bound = Results::Bound(shape_.depth, products, GreatestAddend(addend, size));
    std::array<std::int32_t, static_cast<std::size_t>(kPanel)> doubtful;
    const std::int64_t count = results_.Round({.sums = tile.sums + r * tile.columns,
                                               .n = size,
                                               .factor = factor_,
                                               .addend = addend,
                                               .addend_step = 1,
                                               .bound = bound,
                                               .y = results_.y() + element},
                                              doubtful.data());
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int32_t c = doubtful[static_cast<std::size_t>(i)];
      const W* column = tile.taps == 0 ? nullptr : tile.values + c;
      results_.Put(element + c, tile.rows[r], offsets_, column, tile.columns, addend[c]);
    }
  }

  // What is added to y from `element` on; `copy` is 0.
  const float* Addends(std::int64_t element, std::int64_t n, float* copy) const {
    const Sum& sum = results_.sum();
    if (sum.addend == nullptr) return copy;
    const float* from = sum.addend->tensor.As<float>().data();
    if (addends_are_columns_) return from + element % shape_.columns;
    for (std::int64_t i = 0; i < n; ++i) {
      copy[i] = from[sum.addend_index[static_cast<std::size_t>(element + i)]];
    }
    return copy;
  }

  double GreatestAddend(const float* addend, std::int64_t n) const {
    if (results_.sum().addend == nullptr || sizeof(Real) == sizeof(float)) return 0;  // no bound
    return kernels_.greatest(addend, n);
  }

  MatrixShape shape_;
  Results results_;
  const Kernels& kernels_;
  Threads& threads_;
  Tile tile_;
  double factor_;
  bool addends_are_columns_;
  std::vector<std::int64_t> offsets_;  // of the elements of a row
  std::vector<RealPanels<W, Real>> panels_;
  std::vector<Real> rows_;
  std::vector<double> greatest_;
};

}  // namespace

std::unique_ptr<Step> MakeRealMatMul(const NodePlan& node, const MatrixShape& shape,
                                     RealResults results) {
  const Kernels& kernels = node.kernels();
  if (results.sum().b->tensor.elem_type == format::ElementType::kFloat) {
    return std::make_unique<RealMatMul<float, RealResults>>(node, shape, std::move(results),
                                                            kernels.real_tile_of_floats);
  }
  const Value& b = *results.sum().b;
  if (b.constant && BytesOf(b.tensor).has_value()) {
    return std::make_unique<RealMatMul<std::int8_t, RealResults>>(
        node, shape, std::move(results), kernels.real_tile_of_bytes, PerTensorOf(b.tensor)->scale);
  }
  return std::make_unique<RealMatMul<double, RealResults>>(node, shape, std::move(results),
                                                           kernels.real_tile);
}

std::unique_ptr<Step> MakeRealMatMul(const NodePlan& node, const MatrixShape& shape,
                                     FloatResults results) {
  return std::make_unique<RealMatMul<float, FloatResults>>(node, shape, std::move(results),
                                                           node.kernels().float_tile);
}

}  // namespace qtx::backend::engine
