// Range methods: choose the range of reals that the stored integers cover, from statistics or from
// the data.
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

/// Methods in order of preference: the first that the statistics permit is used.
using RangeMethods = std::vector<RangeMethod>;
/// Comma-separated: "entropy,minmax".  Errors: kInvalid, with the expected forms.
Result<RangeMethods> ParseRangeMethods(std::string_view text);

/// A method and its result.
struct ChosenRange {
  Range range;
  RangeMethod method;
};

/// The range of the values that `statistics` describe, over all axes.
///   minmax        the extremes
///   percentile=P  asymmetric schemes: (100 - P) / 2 percent of the values lie beyond either end;
/// others: 100 - P percent beyond +-t. Values are assumed uniform within a bin.
///   std=K         mean - K * std to mean + K * std, no further than the extremes
///   entropy       +-t where the Kullback-Leibler divergence of the clipped from the quantized
///                 histogram is least (entropy.cc)
///   mse, lp=P     least mean |x - real(stored(x))|^2, ^P over a grid of ranges (error_search.cc)
/// Errors: kInvalid if every method lacks statistics (named), and if there are no values.
Result<ChosenRange> RangeOf(const format::Statistics& statistics, const RangeMethods& methods,
                            const TypeSpec& spec);

/// The same from data. Skips values that are not finite.
Result<ChosenRange> RangeOf(std::span<const float> values, const RangeMethods& methods,
                            const TypeSpec& spec);

}  // namespace qtx::quantize
