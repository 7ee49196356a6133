// Times of rounds, told as a middle and how far the rounds lie from it.
#pragma once

#include <span>
#include <vector>

namespace qtx::bench {

/// Quartiles, between the two nearest values where they fall between.
struct Spread {
  double low = 0, median = 0, high = 0;
};
/// REQUIRES: `values` is not empty.
Spread SpreadOf(std::vector<double> values);

/// How many times as fast as the peer: the spread of peer[i] / own[i], round by round, so that what
/// slows both down in a round does not count.
/// REQUIRES: as many of both, at least one, all positive.
Spread SpeedRatio(std::span<const double> own, std::span<const double> peer);

}  // namespace qtx::bench
