// Merging of statistics.  Source: statistics.S2.
#include <algorithm>
#include <cmath>
#include <limits>

#include "dyadic_histogram.h"
#include "exact_sum.h"
#include "qtx/calibrate/statistics.h"

namespace qtx::calibrate {
namespace {

using format::Histogram;
using format::Moments;
using format::Statistics;

Error Differ(const char* field) {
  return Error{ErrorCode::kInvalid, field, "the two samples differ, expected equal"};
}

Result<std::uint64_t> AddCounts(std::uint64_t a, std::uint64_t b, const char* field) {
  if (a > std::numeric_limits<std::uint64_t>::max() - b) {
    return Error{ErrorCode::kTooLarge, field, "the sum exceeds 2^64"};
  }
  return a + b;
}

// An element without values has zeros, which are not extremes.
bool Seen(const Statistics& s, std::size_t i) {
  return s.moments.empty() || s.moments[i].count != 0;
}

void MergeExtremes(const Statistics& a, const Statistics& b, Statistics& merged) {
  for (std::size_t i = 0; i < a.min.size(); ++i) {
    if (!Seen(a, i) || !Seen(b, i)) {
      merged.min[i] = Seen(a, i) ? a.min[i] : b.min[i];
      merged.max[i] = Seen(a, i) ? a.max[i] : b.max[i];
      continue;
    }
    merged.min[i] = std::min(a.min[i], b.min[i]);
    merged.max[i] = std::max(a.max[i], b.max[i]);
  }
}

// Chan, Golub, LeVeque 1979, "Updating formulae and a pairwise algorithm": with n = na + nb and
// d = mean_b - mean_a,  mean = mean_a + d * nb / n,  M2 = M2_a + M2_b + d^2 * na * nb / n.
// The weights are those of the whole tensor: every element of a named axis is seen equally often.
// Rounding may violate the bounds of statistics.C2; results are clamped to them.
void MergeRounded(const Statistics& a, const Statistics& b, Statistics& merged) {
  const auto na = static_cast<double>(a.count);
  const auto nb = static_cast<double>(b.count);
  const double n = na + nb;
  for (std::size_t i = 0; i < merged.mean.size(); ++i) {
    const double difference = b.mean[i] - a.mean[i];
    merged.mean[i] = a.mean[i] + difference * (nb / n);
    const bool bounded = i < merged.min.size();  // max has as many
    if (bounded) merged.mean[i] = std::max(merged.min[i], std::min(merged.mean[i], merged.max[i]));
    if (merged.std.empty()) continue;
    const double variance = (a.std[i] * a.std[i]) * (na / n) + (b.std[i] * b.std[i]) * (nb / n) +
                            difference * difference * (na / n) * (nb / n);
    merged.std[i] = std::sqrt(variance);
    const double range = bounded ? merged.max[i] - merged.min[i] : 0;
    if (bounded && std::isfinite(range)) merged.std[i] = std::min(merged.std[i], range / 2);
  }
}

// Mean and std from the moments, exact and rounded once.
Result<void> RoundMoments(Statistics& merged) {
  merged.mean.assign(merged.moments.size(), 0);
  merged.std.assign(merged.moments.size(), 0);
  for (std::size_t i = 0; i < merged.moments.size(); ++i) {
    if (merged.moments[i].count == 0) continue;
    QTX_ASSIGN_OR_RETURN(const MeanAndStd rounded, Round(merged.moments[i]));
    const bool inside = i >= merged.min.size() || i >= merged.max.size() ||
                        (rounded.mean >= merged.min[i] && rounded.mean <= merged.max[i]);
    if (!inside || !std::isfinite(rounded.std)) {
      return Error{ErrorCode::kInvalid, "moments", "the mean lies outside min to max"};
    }
    merged.mean[i] = rounded.mean;
    merged.std[i] = rounded.std;
  }
  return {};
}

Result<Moments> Union(const Moments& a, const Moments& b) {
  Moments merged;
  QTX_ASSIGN_OR_RETURN(merged.count, AddCounts(a.count, b.count, "moments.count"));
  QTX_ASSIGN_OR_RETURN(merged.sum, Add(a.sum, b.sum));
  QTX_ASSIGN_OR_RETURN(merged.sum_of_squares, Add(a.sum_of_squares, b.sum_of_squares));
  return merged;
}

Result<void> MergeMoments(const Statistics& a, const Statistics& b, Statistics& merged) {
  if (a.moments.size() != b.moments.size()) return Differ("moments");
  for (std::size_t i = 0; i < a.moments.size(); ++i) {
    QTX_ASSIGN_OR_RETURN(merged.moments[i], Union(a.moments[i], b.moments[i]));
  }
  return RoundMoments(merged);
}

Result<Histogram> MergeDyadic(DyadicHistogram a, const DyadicHistogram& b) {
  a.Add(b);
  Histogram merged = *a.Finish();
  if (!std::isfinite(merged.lower) || !std::isfinite(merged.upper)) {
    return Error{ErrorCode::kTooLarge, "histogram", "the bounds exceed the largest double"};
  }
  return merged;
}

Result<Histogram> MergeHistograms(const Histogram& a, const Histogram& b, std::int64_t max_bins) {
  const auto dyadic_a = DyadicHistogram::From(a, max_bins);
  const auto dyadic_b = DyadicHistogram::From(b, max_bins);
  std::uint64_t total = 0;  // bounds every sum by 64 bits
  for (const Histogram* h : {&a, &b}) {
    for (const std::uint64_t count : h->counts) {
      QTX_ASSIGN_OR_RETURN(total, AddCounts(total, count, "histogram.counts"));
    }
  }
  if (dyadic_a && dyadic_b) return MergeDyadic(*dyadic_a, *dyadic_b);
  if (a.lower != b.lower || a.upper != b.upper || a.counts.size() != b.counts.size()) {
    return Differ("histogram");
  }
  Histogram merged = a;
  for (std::size_t i = 0; i < merged.counts.size(); ++i) merged.counts[i] += b.counts[i];
  QTX_ASSIGN_OR_RETURN(merged.below, AddCounts(a.below, b.below, "histogram.below"));
  QTX_ASSIGN_OR_RETURN(merged.above, AddCounts(a.above, b.above, "histogram.above"));
  return merged;
}

bool IsEmpty(const Statistics& s) { return s.count == 0 && s.min.empty() && s.mean.empty(); }

// Returns b, with the fields that an empty a also has.
Result<Statistics> WithNothing(const Statistics& a, const Statistics& b) {
  Statistics merged = b;
  QTX_ASSIGN_OR_RETURN(merged.nan_count, AddCounts(a.nan_count, b.nan_count, "nan_count"));
  QTX_ASSIGN_OR_RETURN(merged.infinity_count,
                       AddCounts(a.infinity_count, b.infinity_count, "infinity_count"));
  return merged;
}

Result<void> CheckMatch(const Statistics& a, const Statistics& b) {
  if (a.axis != b.axis) return Differ("axis");
  if (a.min.size() != b.min.size()) return Differ("min");
  if (a.max.size() != b.max.size() || a.max.size() != a.min.size()) return Differ("max");
  if (a.mean.size() != b.mean.size()) return Differ("mean");
  if (a.std.size() != b.std.size()) return Differ("std");
  if (!a.std.empty() && a.std.size() != a.mean.size()) {
    return Error{ErrorCode::kInvalid, "std", "found without a mean of equal size"};
  }
  for (const Statistics* s : {&a, &b}) {
    if (!s->moments.empty() && !s->min.empty() && s->moments.size() != s->min.size()) {
      return Differ("moments");
    }
  }
  if (a.histogram.has_value() != b.histogram.has_value()) return Differ("histogram");
  return {};
}

}  // namespace

Result<Statistics> Merge(const Statistics& a, const Statistics& b, std::int64_t max_bins) {
  if (max_bins < 2 || max_bins > format::kMaxHistogramBins) {
    return Error{ErrorCode::kInvalid, "histogram",
                 "found " + std::to_string(max_bins) + " bins, expected 2 to " +
                     std::to_string(format::kMaxHistogramBins)};
  }
  if (IsEmpty(a)) return WithNothing(a, b);
  if (IsEmpty(b)) return WithNothing(b, a);
  QTX_RETURN_IF_ERROR(CheckMatch(a, b));
  QTX_ASSIGN_OR_RETURN(Statistics merged, WithNothing(b, a));
  QTX_ASSIGN_OR_RETURN(merged.count, AddCounts(a.count, b.count, "count"));
  MergeExtremes(a, b, merged);
  if (!a.moments.empty() && !b.moments.empty()) {
    QTX_RETURN_IF_ERROR(MergeMoments(a, b, merged));
  } else {
    merged.moments.clear();
    if (merged.count != 0) MergeRounded(a, b, merged);
  }
  if (a.histogram) {
    QTX_ASSIGN_OR_RETURN(merged.histogram, MergeHistograms(*a.histogram, *b.histogram, max_bins));
  }
  return merged;
}

Result<Statistics> WithoutAxis(const Statistics& statistics) {
  if (statistics.axis.empty()) return statistics;
  Statistics whole = statistics;
  whole.axis.clear();
  whole.moments.assign(1, {});
  whole.min.clear();
  whole.max.clear();
  whole.mean.clear();
  whole.std.clear();
  if (statistics.moments.empty()) {
    return Error{ErrorCode::kInvalid, "moments", "expected one for each element of the axis"};
  }
  for (std::size_t i = 0; i < statistics.moments.size(); ++i) {
    const Moments& moments = statistics.moments[i];
    if (moments.count == 0) continue;
    if (i >= statistics.min.size() || i >= statistics.max.size()) return Differ("min");
    if (whole.min.empty()) {
      whole.min = {statistics.min[i]};
      whole.max = {statistics.max[i]};
    }
    whole.min[0] = std::min(whole.min[0], statistics.min[i]);
    whole.max[0] = std::max(whole.max[0], statistics.max[i]);
    QTX_ASSIGN_OR_RETURN(whole.moments[0], Union(whole.moments[0], moments));
  }
  if (whole.min.empty()) return whole;
  QTX_RETURN_IF_ERROR(RoundMoments(whole));
  return whole;
}

}  // namespace qtx::calibrate
