#include "distribution.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace qtx::quantize {
namespace {

using format::Histogram;
using format::Statistics;

std::optional<Range> ExtremesOf(const Statistics& statistics) {
  if (statistics.min.empty() || statistics.max.empty()) return std::nullopt;
  return Range{*std::ranges::min_element(statistics.min),
               *std::ranges::max_element(statistics.max)};
}

// Mean and variance of a union of samples: E[m_i], E[s_i^2 + m_i^2] - E[m_i]^2, by their counts.
void Pool(const Statistics& statistics, Distribution& result) {
  const std::size_t size = statistics.mean.size();
  if (size == 0) return;
  const bool counted = statistics.moments.size() == size;
  double total = 0, first = 0, second = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const double weight = counted ? static_cast<double>(statistics.moments[i].count) : 1.0;
    total += weight;
    first += weight * statistics.mean[i];
    if (statistics.std.size() == size)
      second += weight *
                (statistics.std[i] * statistics.std[i] + statistics.mean[i] * statistics.mean[i]);
  }
  if (total == 0) return;
  if (size == 1) {  // as it is: no rounding
    result.mean = statistics.mean[0];
    if (!statistics.std.empty()) result.std = statistics.std[0];
    return;
  }
  result.mean = first / total;
  if (statistics.std.size() == size)
    result.std = std::sqrt(std::max(0.0, second / total - *result.mean * *result.mean));
}

void AddMass(double lower, double upper, std::uint64_t count, Distribution& result) {
  if (count == 0) return;
  result.masses.push_back({lower, upper, static_cast<double>(count)});
  result.count += static_cast<double>(count);
}

// Bins end at the extremes: what lies beyond is known not to be there.
void AddBins(const Histogram& histogram, Distribution& result) {
  const double infinity = std::numeric_limits<double>::infinity();
  const Range known = result.extremes.value_or(Range{-infinity, infinity});
  if (histogram.below > 0)
    AddMass(result.extremes ? std::min(known.min, histogram.lower) : histogram.lower,
            histogram.lower, histogram.below, result);
  const auto bins = static_cast<double>(histogram.counts.size());
  const double width = (histogram.upper - histogram.lower) / bins;
  for (std::size_t i = 0; i < histogram.counts.size(); ++i) {
    const double lower = histogram.lower + width * static_cast<double>(i);
    const double upper = i + 1 == histogram.counts.size() ? histogram.upper : lower + width;
    AddMass(std::clamp(lower, known.min, known.max), std::clamp(upper, known.min, known.max),
            histogram.counts[i], result);
  }
  if (histogram.above > 0)
    AddMass(histogram.upper,
            result.extremes ? std::max(known.max, histogram.upper) : histogram.upper,
            histogram.above, result);
}

}  // namespace

Distribution DistributionOf(const Statistics& statistics) {
  Distribution result;
  result.extremes = ExtremesOf(statistics);
  Pool(statistics, result);
  if (statistics.histogram) AddBins(*statistics.histogram, result);
  return result;
}

Distribution DistributionOf(std::span<const float> values) {
  std::vector<float> sorted;
  sorted.reserve(values.size());
  std::ranges::copy_if(values, std::back_inserter(sorted),
                       [](float x) { return std::isfinite(x); });
  std::ranges::sort(sorted);
  Distribution result;
  if (sorted.empty()) return result;
  result.extremes = Range{static_cast<double>(sorted.front()), static_cast<double>(sorted.back())};
  double sum = 0;
  for (const float value : sorted) {
    const auto x = static_cast<double>(value);
    sum += x;
    if (!result.masses.empty() && result.masses.back().lower == x) {
      result.masses.back().count += 1;
    } else {
      result.masses.push_back({x, x, 1});
    }
  }
  result.count = static_cast<double>(sorted.size());
  result.mean = sum / result.count;
  double squares = 0;
  for (const float value : sorted) {
    const double distance = static_cast<double>(value) - *result.mean;
    squares += distance * distance;
  }
  result.std = std::sqrt(squares / result.count);
  return result;
}

}  // namespace qtx::quantize
