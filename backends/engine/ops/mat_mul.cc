// MatMul and Gemm of 8-bit operands: one product of rows of a with columns of b for each matrix of
// the batch.
#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/gemm.h"
#include "engine/ops/matrix.h"
#include "engine/weights.h"

namespace qtx::backend::engine {
namespace {

constexpr std::int64_t kLargestNarrowDepth = std::int64_t{1} << 15;

struct Product : MatrixShape {
  Operand a;
  Value* b = nullptr;
  Operand b_operand;  // when b is computed by the model
  Weights weights;    // when b is constant
  Value* y = nullptr;
  std::vector<Channel> channels;  // one a column
  std::int64_t largest_product = 0;
  const Kernels* kernels = nullptr;
};

template <typename T>
class MatMul : public Step {
 public:
  MatMul(Product product, const GemmKernel<T>& kernel, Requantizer requantizer)
      : p_(std::move(product)),
        requantizer_(std::move(requantizer)),
        kernel_(kernel),
        safe_groups_(SafeGroups(kernel.group, p_.largest_product)),
        b_values_(static_cast<std::size_t>(p_.depth * p_.columns)),
        a_values_(static_cast<std::size_t>(p_.rows * p_.depth)) {
    if (!p_.b->constant) return;
    b_.resize(static_cast<std::size_t>(std::ranges::max(p_.b_matrix) + 1));
    for (std::size_t i = 0; i < b_.size(); ++i) {
      for (std::size_t e = 0; e < b_values_.size(); ++e) {
        b_values_[e] = static_cast<T>(p_.weights.values[i * b_values_.size() + e]);
      }
      PackColumns(b_[i]);
    }
  }

  Result<void> Run() override {
    for (std::size_t i = 0; i < p_.a_matrix.size(); ++i) {
      const std::int64_t a_size = p_.rows * p_.depth;
      kernel_.load(Bytes(p_.a.value->tensor) + p_.a_matrix[i] * a_size, a_size, p_.a.is_signed,
                   p_.a.type.offset, a_values_.data());
      PackRows();
      const PackedColumns<T>* columns = &computed_;
      if (p_.b->constant) {
        columns = &b_[static_cast<std::size_t>(p_.b_matrix[i])];
      } else {
        const std::int64_t b_size = p_.depth * p_.columns;
        kernel_.load(Bytes(p_.b->tensor) + p_.b_matrix[i] * b_size, b_size, p_.b_operand.is_signed,
                     p_.b_operand.type.offset, b_values_.data());
        PackColumns(computed_);
      }
      Multiply(*columns, static_cast<std::int64_t>(i));
    }
    return {};
  }

 private:
  void PackRows() {
    rows_.Reset(kernel_, p_.rows, p_.depth);
    for (std::int64_t r = 0; r < p_.rows; ++r) {
      for (std::int64_t k = 0; k < p_.depth; ++k) {
        const std::int64_t from = p_.transpose_a ? k * p_.rows + r : r * p_.depth + k;
        rows_.At(r, k) = a_values_[static_cast<std::size_t>(from)];
      }
    }
  }

  // b_values_ to panels, k rows of `columns` at a time.
  void PackColumns(PackedColumns<T>& packed) {
    packed.Reset(kernel_, p_.columns, p_.depth);
    const auto width = static_cast<std::size_t>(packed.columns);
    std::vector<T> group(width * static_cast<std::size_t>(kernel_.group));
    const T* pointers[8] = {};
    for (std::int64_t index = 0; index < packed.groups; ++index) {
      std::fill(group.begin(), group.end(), T{0});
      for (int g = 0; g < kernel_.group; ++g) {
        T* row = group.data() + static_cast<std::size_t>(g) * width;
        pointers[g] = row;
        const std::int64_t k = index * kernel_.group + g;
        for (std::int64_t c = 0; k < p_.depth && c < p_.columns; ++c) {
          const std::int64_t from = p_.transpose_b ? c * p_.depth + k : k * p_.columns + c;
          row[c] = b_values_[static_cast<std::size_t>(from)];
        }
      }
      packed.PackGroup(kernel_, index, pointers);
    }
  }

  void Multiply(const PackedColumns<T>& columns, std::int64_t matrix) {
    for (std::int64_t first = 0; first < p_.rows; first += rows_.max_rows) {
      sums_.Multiply(kernel_, rows_, first, columns, safe_groups_);
      for (int r = 0; r < sums_.rows(); ++r) {
        const std::int64_t element = (matrix * p_.rows + first + r) * p_.columns;
        sums_.Store(requantizer_, r, p_.columns, 0, 1, element, p_.y->tensor.bytes.data());
      }
    }
  }

  Product p_;
  Requantizer requantizer_;
  const GemmKernel<T>& kernel_;
  std::int64_t safe_groups_;
  std::vector<T> b_values_, a_values_;
  std::vector<PackedColumns<T>> b_;
  PackedColumns<T> computed_;
  PackedRows<T> rows_;
  PanelSums sums_;
};

// sum (a' - z') w = sum a' w - z' sum w: the second part is the column's correction.
void CorrectOffsets(Product& p) {
  const std::int32_t zero = p.a.type.offset - (p.a.is_signed ? 0 : 128);
  for (std::int64_t c = 0; c < p.columns; ++c) {
    std::int32_t sum = 0;
    for (std::int64_t k = 0; k < p.depth; ++k) {
      const std::int64_t from = p.transpose_b ? c * p.depth + k : k * p.columns + c;
      sum += p.weights.values[static_cast<std::size_t>(from)];
    }
    p.channels[static_cast<std::size_t>(c)].correction = -zero * sum;
  }
}

StepResult Finish(const NodePlan& node, Product p) {
  p.kernels = &node.kernels();
  const bool one_b = std::ranges::max(p.b_matrix) == 0;
  const bool narrow = p.b->constant && one_b && p.weights.fits_int8 &&
                      p.kernels->narrow.multiply != nullptr && p.depth <= kLargestNarrowDepth;
  if (narrow) CorrectOffsets(p);
  auto requantizer = Requantizer::Make(p.channels, p.y->tensor, node.kernels());
  if (!requantizer.has_value()) return node.Because(requantizer.error());
  if (narrow) {
    p.largest_product = std::int64_t{128} * 128;
    return std::make_unique<MatMul<std::int8_t>>(std::move(p), node.kernels().narrow,
                                                 *std::move(requantizer));
  }
  p.largest_product = static_cast<std::int64_t>(p.a.LargestMagnitude()) *
                      (p.b->constant ? p.weights.largest : p.b_operand.LargestMagnitude());
  return std::make_unique<MatMul<std::int16_t>>(std::move(p), node.kernels().wide,
                                                *std::move(requantizer));
}

// Operand b: constant weights with one scale a column, or computed and per tensor.
Result<void> ReadB(const NodePlan& node, Product& p) {
  QTX_ASSIGN_OR_RETURN(p.b, node.Input(1));
  if (p.b->constant) {
    QTX_ASSIGN_OR_RETURN(p.weights, LoadWeights(node, 1, p.column_axis));
    return {};
  }
  QTX_ASSIGN_OR_RETURN(p.b_operand, EightBitOperand(node, 1));
  p.weights.scale.assign(static_cast<std::size_t>(p.columns), p.b_operand.type.scale);
  return {};
}

StepResult Prepare(const NodePlan& node, MatrixShape shape, float alpha, float beta) {
  Product p;
  QTX_ASSIGN_OR_RETURN(p.a, EightBitOperand(node, 0));
  static_cast<MatrixShape&>(p) = std::move(shape);
  if (p.rows < 1 || p.columns < 1 || p.a_matrix.empty()) return node.Unsupported("empty operands");
  QTX_RETURN_IF_ERROR(ReadB(node, p));
  QTX_ASSIGN_OR_RETURN(p.channels,
                       MakeChannels(node, p.a.type.scale, p.weights, p.columns, 2, alpha, beta));
  QTX_ASSIGN_OR_RETURN(p.y, node.Output(p.dims));
  return Finish(node, std::move(p));
}

}  // namespace

StepResult PrepareMatMul(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(MatrixShape shape, MatMulShapeOf(node));
  return Prepare(node, std::move(shape), 1, 1);
}

StepResult PrepareGemm(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(MatrixShape shape, GemmShapeOf(node));
  const float alpha = node.node().FloatOr("alpha", 1);
  const float beta = node.node().FloatOr("beta", 1);
  if (!std::isfinite(alpha) || !std::isfinite(beta))
    return node.Invalid("alpha or beta is not a finite number");
  return Prepare(node, std::move(shape), alpha, beta);
}

}  // namespace qtx::backend::engine
