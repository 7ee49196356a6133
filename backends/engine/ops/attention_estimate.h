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
  /// Nothing where an element is no finite double, or scores are capped.
  static std::optional<AttentionEstimates> Read(const AttentionPlan& plan);

  /// The elements of y for query `i`; `bias` is what is added to each score, minus infinity for
  /// hidden keys. Empty where no key is seen or the bound says nothing.
  std::vector<Estimate> Row(const AttentionPlan& plan, std::int64_t b, std::int64_t h,
                            std::int64_t i, std::span<const double> bias) const;

 private:
  std::vector<double> queries_, keys_, values_;
  double scale_ = 1;
};

/// A tensor's reals as doubles; nothing where one is not finite or needs more bits.
std::optional<std::vector<double>> ExactDoubles(const format::Tensor& tensor);

}  // namespace qtx::backend::engine
