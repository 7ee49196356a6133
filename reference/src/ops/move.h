// What the operators share that give elements of their input in another order or number.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ops/common.h"

namespace qtx::reference {

/// Output 0 of shape `dims`: its element i is input 0's element sources[i], converted where the
/// parameters differ (reshape.S3).  Errors: those of Mover.
Result<format::Tensor> Selected(const Call& call, format::Dims dims,
                                const std::vector<std::int64_t>& sources);

/// start + sum of coordinate * stride for all coordinates of `dims`, in row-major order.
/// REQUIRES: the product of `dims` was checked.
std::vector<std::int64_t> StridedSources(format::Dims dims, format::Dims strides,
                                         std::int64_t start = 0);

/// Output 0 of shape `dims`: input 0 seen as a tensor of shape `view`, its axes permuted.
/// REQUIRES: `view` and `dims` have as many elements as input 0.
Result<format::Tensor> Permuted(const Call& call, const format::Dims& view,
                                const std::vector<std::int64_t>& perm, format::Dims dims);

/// The values of an INT32 or INT64 input of any rank.
/// Errors: kInvalid for an absent input or another type.
Result<std::vector<std::int64_t>> IndicesAt(const Call& call, std::size_t i);
/// The same, of an input of rank 1.
Result<std::vector<std::int64_t>> IndexListAt(const Call& call, std::size_t i);

/// The values of input `i` as axes of a tensor of `rank`, non-negative.
/// Errors: kInvalid for an axis outside [-rank, rank) or named twice.
Result<std::vector<std::size_t>> AxesAt(const Call& call, std::size_t i, std::size_t rank);

/// Attribute `axis` of a tensor of `rank`, non-negative.  Errors: kInvalid outside [-rank, rank).
Result<std::size_t> AxisOf(const Call& call, std::int64_t fallback, std::size_t rank);

/// `index` within an axis of `size`, a negative one from the end.
/// Errors: kInvalid outside [-size, size).
Result<std::int64_t> IndexWithin(std::int64_t index, std::int64_t size);

/// Product of dims[first] to before dims[last].  REQUIRES: the product of all was checked.
std::int64_t Product(const format::Dims& dims, std::size_t first, std::size_t last);

/// Errors: kInvalid when output `i` is wanted and not INT64.
Result<void> CheckInt64Output(const Call& call, std::size_t i);

}  // namespace qtx::reference
