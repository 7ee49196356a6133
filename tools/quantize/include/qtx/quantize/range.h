// Which part of a value's numbers its stored integers shall cover: from statistics alone, or from
// the numbers themselves.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "qtx/format/result.h"
#include "qtx/format/statistics.h"
#include "qtx/quantize/parameters.h"

namespace qtx::quantize {

struct RangeMethod {
  enum class Kind { kMinMax, kPercentile, kStd, kEntropy, kMse, kLp } kind = Kind::kMinMax;
  double parameter = 0;  // percent, multiple of std, or p; unused by the others
  bool operator==(const RangeMethod&) const = default;
};
/// "minmax", "percentile=99.99", "std=3", "entropy", "mse", "lp=2.4".
std::string ToText(const RangeMethod& method);

/// Methods in the order in which they are tried: the first that the statistics allow.
using RangeMethods = std::vector<RangeMethod>;
/// Comma-separated: "entropy,minmax".  Errors: kInvalid, naming what is expected.
Result<RangeMethods> ParseRangeMethods(std::string_view text);

/// A method and what it gave.
struct ChosenRange {
  Range range;
  RangeMethod method;
};

/// The range of what `statistics` describe, over all axes.
///   minmax        the extremes
///   percentile=P  asymmetric schemes: (100 - P) / 2 percent of the values lie beyond either end;
///                 others: 100 - P percent beyond +-t. Values are spread evenly over their bin.
///   std=K         mean - K * std to mean + K * std, no further than the extremes
///   entropy       +-t where the Kullback-Leibler divergence of the clipped from the quantized
///                 histogram is least (entropy.cc)
///   mse, lp=P     least mean |x - real(stored(x))|^2, ^P over a grid of ranges (error_search.cc)
/// Errors: kInvalid naming what the statistics lack for every method of `methods`, and for no
/// values at all.
Result<ChosenRange> RangeOf(const format::Statistics& statistics, const RangeMethods& methods,
                            const TypeSpec& spec);

/// The same of the numbers themselves. Values that are not finite are left out.
Result<ChosenRange> RangeOf(std::span<const float> values, const RangeMethods& methods,
                            const TypeSpec& spec);

}  // namespace qtx::quantize
