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
  /// Errors: kTooLarge.
  static Result<Reduction> Make(const Call& call);
  /// How many elements make one result.
  std::int64_t count() const { return static_cast<std::int64_t>(relative_.size()); }
  /// Whether `axes`, in increasing order, are the reduced ones.
  bool Reduces(const std::vector<std::size_t>& axes) const { return axes_ == axes; }
  /// Advances; false after the last result.
  bool Next();
  std::int64_t element() const { return element_; }
  /// The input's elements of this result, in increasing order.
  std::span<const std::int64_t> sources() const { return sources_; }

 private:
  std::vector<std::size_t> axes_;
  std::int64_t results_ = 0;
  std::int64_t element_ = -1;
  std::optional<StridedIndex> first_;   // the first element of each result
  std::vector<std::int64_t> relative_;  // the elements of a result, from its first on
  std::vector<std::int64_t> sources_;
};

/// The greatest or least over axes: ReduceMax and ReduceMin.
Result<format::Tensor> ReduceExtreme(const Call& call, End end);

}  // namespace qtx::reference
