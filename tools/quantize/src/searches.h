// The range methods that search: least divergence, least error.
#pragma once

#include <vector>

#include "distribution.h"

namespace qtx::quantize {

/// The masses of |x|, ascending, without overlap.
std::vector<Mass> Magnitudes(const Distribution& data);

/// The part -t to t of the extremes that NVIDIA's entropy calibration takes.
/// REQUIRES: extremes and masses are known.
Range LeastDivergence(const Distribution& data, const TypeSpec& spec);

/// The part of the extremes with the least mean |x - real(stored(x))|^p.
/// REQUIRES: extremes and masses are known.
Range LeastError(const Distribution& data, double p, const TypeSpec& spec);

}  // namespace qtx::quantize
