// What the operators that normalise share.
#pragma once

#include "arithmetic/normalization.h"
#include "ops/common.h"

namespace qtx::reference {

/// Elements of x in groups of `size`, one after the other: the axes from `axis` on are one group.
struct Groups {
  std::int64_t axis = 0;
  std::int64_t count = 1, size = 1;
};

/// The groups that attribute `axis` names in `dims`.
Groups GroupsOf(const Call& call, const format::Dims& dims);

/// Gain (input 1) and bias (input 2, when `has_bias`) broadcast over all of x.
struct Affine {
  std::optional<Operand> gain, bias;
  std::vector<std::int64_t> gain_indices, bias_indices;

  Coefficient Gain(std::int64_t element) const;
  Coefficient Bias(std::int64_t element) const;
};
/// Errors: those of OperandAt.
Result<Affine> AffineOf(const Call& call, const format::Dims& dims, bool has_bias);

/// Errors: kUnsupported for a stash_type other than FLOAT: statistics are exact here, or binary32.
Result<void> SupportsStash(const format::Node& node, std::int64_t opset);

}  // namespace qtx::reference
