// Shapes of tensors, fixed (Dims) or as written in a model (Shape), and overflow-checked products.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "qtx/format/result.h"

namespace qtx::format {

using Dims = std::vector<std::int64_t>;

/// One dimension as a model writes it: a number, a symbol, or nothing.
struct Dimension {
  std::optional<std::int64_t> value;
  std::string symbol;
  std::string unknown_fields = {};  // denotation
  bool operator==(const Dimension&) const = default;
};
using Shape = std::vector<Dimension>;

/// The product of `dims` (1 for rank 0).
/// Errors: kInvalid for a negative dimension, kTooLarge past kMaxRank or kMaxElements.
Result<std::int64_t> ElementCount(std::span<const std::int64_t> dims);

/// All dimensions as numbers, or nullopt when one is symbolic or absent.
std::optional<Dims> FixedDims(const Shape& shape);
Shape ToShape(std::span<const std::int64_t> dims);

/// Row-major strides in elements, where a dimension of size 0 counts as 1.
Dims RowMajorStrides(std::span<const std::int64_t> dims);

/// `axis` in [-rank, rank) as a non-negative axis.  Errors: kInvalid outside that range.
Result<std::int64_t> NormalizeAxis(std::int64_t axis, std::int64_t rank);

/// "[1,3,?,N]"
std::string ToString(const Shape& shape);
std::string ToString(std::span<const std::int64_t> dims);

}  // namespace qtx::format
