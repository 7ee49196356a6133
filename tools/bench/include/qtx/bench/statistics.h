// Median and quartiles of measured times.
#pragma once

#include <span>
#include <vector>

namespace qtx::bench {

/// Quartiles, interpolated between the two nearest values.
struct Spread {
  double low = 0, median = 0, high = 0;
};
/// REQUIRES: `values` is not empty.
Spread SpreadOf(std::vector<double> values);

/// Speed relative to the peer: the spread of peer[i] / own[i], round by round, so that a slowdown
/// of both in one round cancels.
/// REQUIRES: equal sizes of at least 1, all values positive.
Spread SpeedRatio(std::span<const double> own, std::span<const double> peer);

}  // namespace qtx::bench
