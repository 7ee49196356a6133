// The distribution of a value: masses on the real line, from a histogram or from data.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "qtx/format/result.h"
#include "qtx/format/statistics.h"
#include "qtx/quantize/parameters.h"

namespace qtx::quantize {

/// `count` values, uniform between lower and upper, or all at one point.
struct Mass {
  double lower = 0;
  double upper = 0;
  double count = 0;
};

struct Distribution {
  std::optional<Range> extremes;
  std::optional<double> mean, std;
  std::vector<Mass> masses;  // ascending, without overlap; empty: not known
  double count = 0;          // of all masses
};

/// Merges all axes: overall extremes; mean and std pooled by counts (`moments`), else with equal
/// weights.
Distribution DistributionOf(const format::Statistics& statistics);
/// Skips values that are not finite.
Distribution DistributionOf(std::span<const float> values);

}  // namespace qtx::quantize
