// Conv, MatMul and Gemm with a FLOAT result. In arithmetic `exact`: sums in binary64, and the exact
// sum where their error bound does not decide how they round to binary32. In `float32`: sums in
// binary32, in the order of the taps.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "engine/ops/conv.h"
#include "engine/ops/float_mean.h"
#include "engine/ops/matrix.h"
#include "engine/ops/reals.h"
#include "engine/ops/reduction.h"

namespace qtx::backend::engine {

/// True if the operands of `sum` are binary64 numbers (FLOAT, or integers of at most 16 bits with
/// their parameters), its addend and y are FLOAT, no factor is left to multiply with, and the
/// arithmetic is `exact`.
bool TakesRealProducts(const NodePlan& node, const Sum& sum, const Value& y);

/// True for the same operands in `float32`, of which one is FLOAT: float32.S3.
bool TakesFloatProducts(const NodePlan& node, const Sum& sum, const Value& y);

/// Rounds sums to elements of y.
class RealResults {
 public:
  using Real = double;
  /// REQUIRES: TakesRealProducts, and MakeSum accepts them.
  RealResults(const NodePlan& node, Sum sum, Walk walk, Value* y)
      : settle_(node.kernels().settle),
        exact_products_(IsFloat(*sum.a) && IsFloat(*sum.b)),
        sum_(std::move(sum)),
        walk_(std::move(walk)),
        y_(y) {}

  /// The reals of an operand, exactly.
  static std::vector<double> Load(const format::Tensor& tensor);

  const Sum& sum() const { return sum_; }
  float* y() const { return y_->tensor.As<float>().data(); }
  /// A new run: operands may have changed.
  void Begin();
  /// The greatest error of a sum of `terms` products plus an addend, in binary64, where the
  /// magnitudes of the products have no greater sum than `products`.
  static double Bound(std::int64_t terms, double products, double addend);
  /// of.y[i] = of.sums[i] * of.factor + of.addend[i * of.addend_step]. `of.bound`: of Bound. Lists
  /// the sums whose rounding is doubtful and returns their number.
  std::int64_t Round(const RealSums<double>& of, std::int32_t* doubtful) const {
    return settle_(of, doubtful);
  }
  /// y[element], doubtful, from its products row[offsets[k]] * column[k * step]: their sum and what
  /// it lost, or, where that does not decide either, the exact sum. Several threads may put
  /// different elements.
  template <typename W>
  void Put(std::int64_t element, const double* row, std::span<const std::int64_t> offsets,
           const W* column, std::int64_t step, float addend) {
    CompensatedSum sum;
    for (const std::int64_t offset : offsets) {
      sum.Add(row[offset] * static_cast<double>(*column));
      column += step;
    }
    sum.Add(addend);
    if (!PutSum(element, sum, static_cast<std::int64_t>(offsets.size()))) PutExactly(element);
  }

 private:
  Term TermAt(const Value& value, std::optional<std::vector<Term>>& reals, std::int64_t i) const;
  /// False if it is not certain how the sum of `terms` products and an addend rounds.
  bool PutSum(std::int64_t element, const CompensatedSum& sum, std::int64_t terms);
  void PutExactly(std::int64_t element);

  std::int64_t (*settle_)(const RealSums<double>&, std::int32_t*);
  bool exact_products_;  // in binary64
  Sum sum_;
  Walk walk_;
  Value* y_;
  std::unique_ptr<std::mutex> exactly_ = std::make_unique<std::mutex>();  // of what is below
  std::optional<RealWriter> writer_;
  std::optional<std::vector<Term>> a_, b_;  // of operands that are not FLOAT, once they are needed
  std::vector<Pair> taps_;
  std::vector<Term> terms_;
};

/// The same of sums in binary32.
class FloatResults {
 public:
  using Real = float;

  /// REQUIRES: TakesFloatProducts, and MakeSum accepts them.
  FloatResults(const NodePlan& node, Sum sum, Walk walk, Value* y)
      : settle_(node.kernels().settle_floats),
        sum_(std::move(sum)),
        walk_(std::move(walk)),
        y_(y) {}

  static std::vector<float> Load(const format::Tensor& tensor);

  const Sum& sum() const { return sum_; }
  float* y() const { return y_->tensor.As<float>().data(); }
  void Begin();
  static double Bound(std::int64_t, double, double) { return 0; }
  std::int64_t Round(const RealSums<float>& of, std::int32_t* doubtful) const {
    return settle_(of, doubtful);
  }
  /// y[element], a NaN that may be padding times an infinite weight: the sum without padding.
  void Put(std::int64_t element, const float* row, std::span<const std::int64_t> offsets,
           const float* column, std::int64_t step, float addend);

 private:
  std::int64_t (*settle_)(const RealSums<float>&, std::int32_t*);
  Sum sum_;
  Walk walk_;
  Value* y_;
  std::unique_ptr<std::mutex> putting_ = std::make_unique<std::mutex>();  // of what is below
  std::optional<std::vector<float>> a_, b_;                               // once they are needed
  std::vector<Pair> taps_;
};

/// nullptr if padding or strides take more memory than they are worth, or than there is. Results:
/// RealResults or FloatResults.
template <typename Results>
std::unique_ptr<Step> MakeRealConv(const NodePlan& node, const ConvShape& shape, Results results);
std::unique_ptr<Step> MakeRealMatMul(const NodePlan& node, const MatrixShape& shape,
                                     RealResults results);
std::unique_ptr<Step> MakeRealMatMul(const NodePlan& node, const MatrixShape& shape,
                                     FloatResults results);

}  // namespace qtx::backend::engine
