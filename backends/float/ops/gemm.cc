// Gemm and MatMul. Each result of MatMul is one chain that begins with 0; of Gemm with alpha 1 it
// begins with beta * C, else it is fma(alpha, chain, beta * C).
#include <algorithm>
#include <cmath>
#include <optional>

#include "float/product.h"

namespace qtx::backend::floats {
namespace {

using format::Dims;
using format::Tensor;

class Gemm : public Operator {
 public:
  explicit Gemm(const NodeInfo& info)
      : a_transposed_(info.attributes.Int("transA") != 0),
        b_transposed_(info.attributes.Int("transB") != 0),
        alpha_(info.attributes.Float("alpha")),
        beta_(info.attributes.Float("beta")) {
    const Tensor* b = InputOr(info.constants, 1);
    if (b == nullptr || b->elem_type != format::ElementType::kFloat) return;
    packed_ = PackColumns(info.kernels, B(*b), DimAt(*b, b_transposed_ ? 0 : 1),
                          DimAt(*b, b_transposed_ ? 1 : 0));
  }

  bool Packed(std::size_t input) const override { return input == 1 && !packed_.empty(); }

  Result<Tensor> Run(const Context& context, Inputs inputs) const override {
    const Tensor* a = InputOr(inputs, 0);
    const Tensor* b = InputOr(inputs, 1);
    const Tensor* c = InputOr(inputs, 2);
    MatrixProduct p;
    p.rows = DimAt(*a, a_transposed_ ? 1 : 0);
    p.depth = DimAt(*a, a_transposed_ ? 0 : 1);
    p.columns = p.stride = DimAt(*b, b_transposed_ ? 0 : 1);
    QTX_ASSIGN_OR_RETURN(Tensor y, context.buffers.NewTensor({p.rows, p.columns}));
    const std::int64_t step = a->dims[1];
    const Matrix matrix = a_transposed_ ? Matrix{DataOf(*a), 1, step} : Matrix{DataOf(*a), step, 1};
    Scratch rows(context.buffers, p.rows * p.depth);
    PackRows(context.kernels, matrix, p.rows, p.depth, rows.data());
    p.a = rows.data();
    p.b = packed_.empty() ? nullptr : packed_.data();
    p.pack = [&](const Block& block, float* out) { PackBlock(B(*b), block, out); };
    p.c = DataOf(y);
    if (alpha_ != 1 || c == nullptr) {
      Multiply(context, {&p, 1});
      if (alpha_ == 1) return y;
    }
    AddC(c, p.rows, p.columns, p.c);
    if (alpha_ != 1) return y;
    p.begins = false;
    Multiply(context, {&p, 1});
    return y;
  }

 private:
  Matrix B(const Tensor& b) const {
    const std::int64_t step = b.dims[1];
    return b_transposed_ ? Matrix{DataOf(b), 1, step} : Matrix{DataOf(b), step, 1};
  }

  // C as [rows, columns]; without one, zeros.
  static Matrix Broadcast(const Tensor* c) {
    static constexpr float kZero = 0;
    if (c == nullptr) return Matrix{&kZero, 0, 0};
    const std::int64_t c_columns = c->dims.empty() ? 1 : c->dims.back();
    const std::int64_t c_rows = c->dims.size() < 2 ? 1 : c->dims[0];
    return Matrix{DataOf(*c), c_rows == 1 ? 0 : c_columns, c_columns == 1 ? 0 : 1};
  }

  // y = beta * c, or where alpha is not 1, y = fma(alpha, y, beta * c).
  void AddC(const Tensor* c, std::int64_t rows, std::int64_t columns, float* y) const {
    const Matrix added = Broadcast(c);
    const float beta = c == nullptr ? 0.0F : beta_;
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j, ++y) {
        const float term = beta * added.data[i * added.row_step + j * added.column_step];
        *y = alpha_ == 1 ? term : std::fma(alpha_, *y, term);
      }
    }
  }

  bool a_transposed_, b_transposed_;
  float alpha_, beta_;
  std::vector<float> packed_;
};

// Dims with the stacks of matrices broadcast together.
struct Stacks {
  Dims dims;                       // of the result, without the matrices
  std::vector<std::int64_t> a, b;  // which matrix of each operand
};

Result<Stacks> Broadcast(std::span<const std::int64_t> a, std::span<const std::int64_t> b) {
  Stacks stacks;
  stacks.dims.assign(std::max(a.size(), b.size()), 1);
  for (const auto dims : {a, b}) {
    for (std::size_t i = 0; i < dims.size(); ++i) {
      std::int64_t& dim = stacks.dims[stacks.dims.size() - dims.size() + i];
      if (dim == 1) dim = dims[i];
    }
  }
  QTX_ASSIGN_OR_RETURN(const std::int64_t count, format::ElementCount(stacks.dims));
  const auto index = [&](std::span<const std::int64_t> dims, std::int64_t at) {
    std::int64_t found = 0;
    std::int64_t stride = 1;
    for (std::size_t i = 0; i < stacks.dims.size(); ++i) {  // from the last axis on
      const std::int64_t coordinate = at % stacks.dims[stacks.dims.size() - 1 - i];
      at /= stacks.dims[stacks.dims.size() - 1 - i];
      if (i >= dims.size()) break;
      const std::int64_t dim = dims[dims.size() - 1 - i];
      if (dim != 1) found += coordinate * stride;
      stride *= dim;
    }
    return found;
  };
  for (std::int64_t i = 0; i < count; ++i) {
    stacks.a.push_back(index(a, i));
    stacks.b.push_back(index(b, i));
  }
  return stacks;
}

class MatMul : public Operator {
 public:
  explicit MatMul(const NodeInfo& info) {
    const Tensor* b = InputOr(info.constants, 1);
    if (b == nullptr || b->elem_type != format::ElementType::kFloat || Rank(*b) != 2) return;
    packed_ = PackColumns(info.kernels, {DataOf(*b), b->dims[1], 1}, b->dims[1], b->dims[0]);
  }

  bool Packed(std::size_t input) const override { return input == 1 && !packed_.empty(); }

  Result<Tensor> Run(const Context& context, Inputs inputs) const override {
    const Tensor* a = InputOr(inputs, 0);
    const Tensor* b = InputOr(inputs, 1);
    Dims a_dims = a->dims;
    Dims b_dims = b->dims;
    if (a->dims.size() == 1) a_dims.insert(a_dims.begin(), 1);
    if (b->dims.size() == 1) b_dims.push_back(1);
    const auto matrix = [](const Dims& dims) { return std::span(dims).last(2); };
    std::span<const std::int64_t> a_stack = std::span(a_dims).first(a_dims.size() - 2);
    Sizes sizes{matrix(a_dims)[0], matrix(b_dims)[1], matrix(a_dims)[1]};
    if (b_dims.size() == 2) {  // all rows of a stack at once
      sizes.rows *= Product(a_stack);
      a_stack = {};
    }
    QTX_ASSIGN_OR_RETURN(const Stacks stacks,
                         Broadcast(a_stack, std::span(b_dims).first(b_dims.size() - 2)));
    Dims dims = b_dims.size() == 2 ? Dims(a_dims.begin(), a_dims.end() - 2) : stacks.dims;
    if (a->dims.size() > 1) dims.push_back(matrix(a_dims)[0]);
    if (b->dims.size() > 1) dims.push_back(matrix(b_dims)[1]);
    QTX_ASSIGN_OR_RETURN(Tensor y, context.buffers.NewTensor(std::move(dims)));
    Compute(context, *a, *b, sizes, stacks, DataOf(y));
    return y;
  }

 private:
  struct Sizes {
    std::int64_t rows, columns, depth;
  };

  void Compute(const Context& context, const Tensor& a, const Tensor& b, const Sizes& sizes,
               const Stacks& stacks, float* y) const {
    const std::int64_t a_size = sizes.rows * sizes.depth;
    const std::int64_t a_count = a_size == 0 ? 0 : format::ElementCount(a) / a_size;
    Scratch rows(context.buffers, a_count * a_size);
    context.workers.For(a_count, a_count * a_size, [&](std::int64_t i) {
      PackRows(context.kernels, {DataOf(a) + i * a_size, sizes.depth, 1}, sizes.rows, sizes.depth,
               rows.data() + i * a_size);
    });
    std::vector<MatrixProduct> products;
    for (std::size_t i = 0; i < stacks.a.size(); ++i) {
      MatrixProduct p{sizes.rows, sizes.columns, sizes.depth};
      p.a = rows.data() + stacks.a[i] * a_size;
      p.b = packed_.empty() ? nullptr : packed_.data();
      const Matrix matrix{DataOf(b) + stacks.b[i] * sizes.depth * sizes.columns, sizes.columns, 1};
      p.pack = [matrix](const Block& block, float* out) { PackBlock(matrix, block, out); };
      p.c = y + static_cast<std::int64_t>(i) * sizes.rows * sizes.columns;
      p.stride = sizes.columns;
      products.push_back(std::move(p));
    }
    Multiply(context, products);
  }

  std::vector<float> packed_;
};

}  // namespace

Result<std::unique_ptr<Operator>> MakeGemm(const NodeInfo& info) {
  return std::make_unique<Gemm>(info);
}

Result<std::unique_ptr<Operator>> MakeMatMul(const NodeInfo& info) {
  return std::make_unique<MatMul>(info);
}

}  // namespace qtx::backend::floats
