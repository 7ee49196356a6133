// Range methods that search: entropy, and mse or lp.
#pragma once

#include <vector>

#include "distribution.h"

namespace qtx::quantize {

/// The masses of |x|, ascending, without overlap.
std::vector<Mass> Magnitudes(const Distribution& data);

/// The range -t to t that NVIDIA's entropy calibration chooses.
/// REQUIRES: extremes and masses are known.
Range LeastDivergence(const Distribution& data, const TypeSpec& spec);

/// The range within the extremes with the least mean |x - real(stored(x))|^p.
/// REQUIRES: extremes and masses are known.
Range LeastError(const Distribution& data, double p, const TypeSpec& spec);

}  // namespace qtx::quantize
