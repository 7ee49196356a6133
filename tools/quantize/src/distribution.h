// The numbers of a value as masses on the real line, whatever they come from: bins of a histogram,
// or the numbers themselves.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "qtx/format/result.h"
#include "qtx/format/statistics.h"
#include "qtx/quantize/parameters.h"

namespace qtx::quantize {

/// `count` numbers spread evenly over lower to upper, or all at one place.
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

/// Of all axes together: the extremes of the extremes; mean and std pooled by the samples' counts
/// (`moments`), or evenly, which is right where every element of the axes has as many samples.
Distribution DistributionOf(const format::Statistics& statistics);
/// Values that are not finite are left out.
Distribution DistributionOf(std::span<const float> values);

}  // namespace qtx::quantize
