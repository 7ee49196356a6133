// Rows of Attention in binary64 with a bound on their error, for tensors whose reals are doubles.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "engine/ops/attention.h"
#include "engine/ops/estimate.h"

namespace qtx::backend::engine {

/// Q and the keys and values, those of the past first: [batch, heads, rows, size], whatever the
/// layout of the inputs.
class AttentionEstimates {
 public:
  /// nullopt if an element is not a finite double, or if scores are capped.
  static std::optional<AttentionEstimates> Read(const AttentionPlan& plan);

  /// The elements of y for query `i`; `bias` is added to each score and is minus infinity for
  /// masked keys. Empty if all keys are masked or the error bound is infinite.
  std::vector<Estimate> Row(const AttentionPlan& plan, std::int64_t b, std::int64_t h,
                            std::int64_t i, std::span<const double> bias) const;

 private:
  std::vector<double> queries_, keys_, values_;
  double scale_ = 1;
};

/// A tensor's reals as doubles; nullopt if one is not finite or does not fit a double.
std::optional<std::vector<double>> ExactDoubles(const format::Tensor& tensor);

}  // namespace qtx::backend::engine
