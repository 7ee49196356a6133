// DepthToSpace and SpaceToDepth: squares of `blocksize` times `blocksize` elements.
#pragma once

#include <cstdint>

#include "ops/common.h"

namespace qtx::reference {

/// Errors: kInvalid when `blocksize` is absent, below 1 or above any size there can be.
Result<void> CheckBlockSize(const format::Node& node);

/// The shape of input 0.  Errors: kInvalid when its rank is not 4.
Result<format::Dims> ImageDims(const Call& call);

/// Size of an axis of input 0 over `divisor`.  Errors: kInvalid when that leaves a rest.
Result<std::int64_t> Divided(const Call& call, std::size_t axis, std::int64_t divisor);

}  // namespace qtx::reference
