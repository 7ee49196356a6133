// What the operators share that give elements of their input in another order or number.
#pragma once

#include <cstdint>
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

/// Output 0: input 0 seen as a tensor of shape `view`, its axes permuted.
/// REQUIRES: `view` has as many elements as input 0 and output 0.
Result<format::Tensor> Permuted(const Call& call, const format::Dims& view,
                                const std::vector<std::int64_t>& perm);

/// Product of dims[first] to before dims[last].  REQUIRES: the product of all was checked.
std::int64_t Product(const format::Dims& dims, std::size_t first, std::size_t last);

}  // namespace qtx::reference
