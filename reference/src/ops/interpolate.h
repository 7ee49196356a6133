// The two ways in which Resize makes an element of those that its samples name.
#pragma once

#include <vector>

#include "ops/resample.h"

namespace qtx::reference {

/// `samples` holds, for each axis, one sample per coordinate of `dims`.
using AxisSamples = std::vector<std::vector<Sample>>;

/// Each element is one of x's.  Source: resize.S5.
Result<format::Tensor> PickNearest(const Call& call, const format::Dims& dims,
                                   const AxisSamples& samples);

/// Each element is a weighted mean of x's elements at the corners of a box.
/// Source: resize.S6, resize.S8.
Result<format::Tensor> Interpolate(const Call& call, const format::Dims& dims,
                                   const AxisSamples& samples);

}  // namespace qtx::reference
