#include "engine/ops/matrix.h"

#include <cmath>
#include <utility>

#include "engine/ops/hybrid.h"
#include "engine/ops/indexing.h"
#include "engine/ops/real_product.h"
#include "engine/ops/reduction.h"
#include "engine/weights.h"

namespace qtx::backend::engine {
namespace {

using format::Dims;

constexpr std::int64_t kLargestBatch = std::int64_t{1} << 24;

Dims Leading(const Dims& dims) { return {dims.begin(), dims.end() - 2}; }

// Every matrix product as a plane of its own: taps go along the depth.
Walk WalkOf(const MatrixShape& shape) {
  Walk walk;
  const Pair row{shape.transpose_a ? 1 : shape.depth, 0};
  const Pair column{0, shape.transpose_b ? shape.depth : 1};
  const Pair step{shape.transpose_a ? shape.rows : 1, shape.transpose_b ? 1 : shape.columns};
  for (std::size_t i = 0; i < shape.a_matrix.size(); ++i) {
    const Pair first{shape.a_matrix[i] * shape.rows * shape.depth,
                     shape.b_matrix[i] * shape.depth * shape.columns};
    for (std::int64_t r = 0; r < shape.rows; ++r) {
      for (std::int64_t c = 0; c < shape.columns; ++c) {
        walk.planes.push_back({first.a + r * row.a, first.b + c * column.b});
      }
    }
  }
  walk.terms = static_cast<double>(walk.planes.size()) * static_cast<double>(shape.depth);
  walk.taps_at = [step, depth = shape.depth](std::int64_t, std::vector<Pair>& taps) {
    taps.clear();
    for (std::int64_t k = 0; k < depth; ++k) taps.push_back({k * step.a, k * step.b});
    return std::int64_t{1};
  };
  return walk;
}

// What integer arithmetics ask of the planes of WalkOf.
void SetChannels(const MatrixShape& shape, Sum& sum) {
  sum.channel_axis = shape.column_axis;
  const std::int64_t rows = static_cast<std::int64_t>(shape.a_matrix.size()) * shape.rows;
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < shape.columns; ++c) sum.channel.push_back(c);
  }
}

// tflite.S14, and the exact product where x has an infinity or NaN.
StepResult MakeHybridProduct(const NodePlan& node, const MatrixShape& shape, Sum sum, Walk walk,
                             Value* y) {
  if (!sum.b->constant || shape.depth > kMostDepth) {
    return node.Unsupported("weights that are computed, or this large, beside a quantized x");
  }
  if (sum.addend != nullptr) {
    const format::Tensor& bias = sum.addend->tensor;
    const bool row = !bias.dims.empty() && bias.dims.back() == shape.columns &&
                     format::ElementCount(bias) == shape.columns;
    if (!row || !IsFloat(*sum.addend)) {
      return node.Unsupported("a bias that is no row of FLOAT beside a quantized x");
    }
  }
  const Sum roles = sum;
  auto exact = MakeRealMatMul(node, shape, RealResults(node, std::move(sum), std::move(walk), y));
  if (shape.rows < 1 || shape.columns < 1 || shape.depth < 1) return exact;
  return MakeHybrid(node, shape, roles, y, std::move(exact));
}

StepResult MakeProduct(const NodePlan& node, const MatrixShape& shape, Sum sum, Value* y) {
  Walk walk = WalkOf(shape);
  StepResult general = MakeSum(node, sum, walk, y);
  if (!general.has_value()) return general;
  if (IsTflite(node.arithmetic()) && IsHybrid(node)) {
    return MakeHybridProduct(node, shape, std::move(sum), std::move(walk), y);
  }
  if (TakesRealProducts(node, sum, *y)) {
    return MakeRealMatMul(node, shape, RealResults(node, std::move(sum), std::move(walk), y));
  }
  if (TakesFloatProducts(node, sum, *y)) {
    return MakeRealMatMul(node, shape, FloatResults(node, std::move(sum), std::move(walk), y));
  }
  return general;
}

}  // namespace

Result<MatrixShape> MatMulShapeOf(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(const format::Tensor* left, node.TypeOf(0));
  QTX_ASSIGN_OR_RETURN(const format::Tensor* right, node.TypeOf(1));
  Dims a = left->dims;
  Dims b = right->dims;
  const bool row_vector = a.size() == 1;
  const bool column_vector = b.size() == 1;
  if (row_vector) a.insert(a.begin(), 1);
  if (column_vector) b.push_back(1);
  MatrixShape shape;
  shape.rows = a[a.size() - 2];
  shape.depth = a.back();
  shape.columns = b.back();
  if (!column_vector) shape.column_axis = static_cast<std::int64_t>(b.size()) - 1;
  Dims batch = BroadcastDims(Leading(a), Leading(b));
  const auto count = format::ElementCount(batch);
  if (!count.has_value()) return node.Because(count.error());
  if (*count > kLargestBatch) return node.Unsupported("a batch this large");
  shape.a_matrix = BroadcastIndex(Leading(a), batch);
  shape.b_matrix = BroadcastIndex(Leading(b), batch);
  shape.dims = std::move(batch);
  if (!row_vector) shape.dims.push_back(shape.rows);
  if (!column_vector) shape.dims.push_back(shape.columns);
  return shape;
}

Result<MatrixShape> GemmShapeOf(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(const format::Tensor* left, node.TypeOf(0));
  QTX_ASSIGN_OR_RETURN(const format::Tensor* right, node.TypeOf(1));
  const Dims& a = left->dims;
  const Dims& b = right->dims;
  MatrixShape shape;
  shape.transpose_a = node.Int("transA") != 0;
  shape.transpose_b = node.Int("transB") != 0;
  const std::size_t a_depth = shape.transpose_a ? 0 : 1;
  const std::size_t b_depth = shape.transpose_b ? 1 : 0;
  shape.rows = a[1 - a_depth];
  shape.depth = a[a_depth];
  shape.columns = b[1 - b_depth];
  shape.column_axis = shape.transpose_b ? 0 : 1;
  shape.a_matrix = shape.b_matrix = {0};
  shape.dims = {shape.rows, shape.columns};
  return shape;
}

StepResult PrepareGeneralMatMul(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(const MatrixShape shape, MatMulShapeOf(node));
  QTX_ASSIGN_OR_RETURN(Value * y, node.Output(shape.dims));
  Sum sum;
  sum.plain = Plain::kNumbers;
  QTX_ASSIGN_OR_RETURN(sum.a, node.Input(0));
  QTX_ASSIGN_OR_RETURN(sum.b, node.Input(1));
  SetChannels(shape, sum);
  return MakeProduct(node, shape, std::move(sum), y);
}

StepResult PrepareGeneralGemm(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(const MatrixShape shape, GemmShapeOf(node));
  QTX_ASSIGN_OR_RETURN(Value * y, node.Output(shape.dims));
  Sum sum;
  sum.plain = Plain::kNumbers;
  QTX_ASSIGN_OR_RETURN(sum.a, node.Input(0));
  QTX_ASSIGN_OR_RETURN(sum.b, node.Input(1));
  sum.factor = node.Float("alpha");
  sum.addend_factor = node.bias_factor().value_or(node.Float("beta"));
  if (node.bias_factor().has_value()) sum.addend_unit = sum.factor;
  if (!std::isfinite(sum.factor) || !std::isfinite(sum.addend_factor)) {
    return node.Unsupported("alpha or beta is not a finite number");
  }
  if (node.HasInput(2)) {
    QTX_ASSIGN_OR_RETURN(sum.addend, node.Input(2));
    sum.addend_index = BroadcastIndex(sum.addend->tensor.dims, shape.dims);
  }
  SetChannels(shape, sum);
  return MakeProduct(node, shape, std::move(sum), y);
}

}  // namespace qtx::backend::engine
