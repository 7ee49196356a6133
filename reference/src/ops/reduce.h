// What the reductions share: their axes, their output's shape and the elements of each result.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "arithmetic/extreme_finder.h"
#include "ops/common.h"

namespace qtx::reference {

/// Walks the results of a reduction in row-major order. Source: reduce_sum.S3 to reduce_sum.S5.
class Reduction {
 public:
  /// Reads axes, keepdims and noop_with_empty_axes. `input_since`: the opset from which the axes
  /// are input 1.  Errors: kInvalid for axes that break reduce_sum.C2 or reduce_sum.C3.
  static Result<Reduction> Make(const Call& call, std::int64_t input_since);
  const format::Dims& dims() const { return dims_; }  // of the output
  /// How many elements make one result.
  std::int64_t count() const { return static_cast<std::int64_t>(relative_.size()); }
  /// Advances; false after the last result.
  bool Next();
  std::int64_t element() const { return element_; }
  /// The input's elements of this result, in increasing order.
  std::span<const std::int64_t> sources() const { return sources_; }

 private:
  format::Dims dims_;
  std::int64_t results_ = 0;
  std::int64_t element_ = -1;
  std::optional<StridedIndex> first_;   // the first element of each result
  std::vector<std::int64_t> relative_;  // the elements of a result, from its first on
  std::vector<std::int64_t> sources_;
};

/// The greatest or least over axes: ReduceMax and ReduceMin.
Result<format::Tensor> ReduceExtreme(const Call& call, End end);

/// The attributes of all reductions.
std::span<const AttributeRule> ReductionAttributes();

}  // namespace qtx::reference
