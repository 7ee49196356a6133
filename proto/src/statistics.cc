#include "qtx/format/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace qtx::format {
namespace {

Error Differ(const char* field) {
  return Error{ErrorCode::kInvalid, field, "the two samples differ, expected equal"};
}

Result<std::uint64_t> Add(std::uint64_t a, std::uint64_t b, const char* field) {
  if (a > std::numeric_limits<std::uint64_t>::max() - b) {
    return Error{ErrorCode::kTooLarge, field, "the sum passes 2^64"};
  }
  return a + b;
}

// Chan, Golub, LeVeque 1979, "Updating formulae and a pairwise algorithm": with n = na + nb and
// d = mean_b - mean_a,  mean = mean_a + d * nb / n,  M2 = M2_a + M2_b + d^2 * na * nb / n.
// The weights are those of the whole tensor: every element of a named axis is seen equally often.
void MergeMoments(const Statistics& a, const Statistics& b, Statistics& merged) {
  const auto na = static_cast<double>(a.count);
  const auto nb = static_cast<double>(b.count);
  const double n = na + nb;
  for (std::size_t i = 0; i < merged.mean.size(); ++i) {
    const double difference = b.mean[i] - a.mean[i];
    merged.mean[i] = a.mean[i] + difference * (nb / n);
    if (merged.std.empty()) continue;
    const double variance = (a.std[i] * a.std[i]) * (na / n) + (b.std[i] * b.std[i]) * (nb / n) +
                            difference * difference * (na / n) * (nb / n);
    merged.std[i] = std::sqrt(variance);
  }
}

Result<Histogram> Merge(const Histogram& a, const Histogram& b) {
  if (a.lower != b.lower || a.upper != b.upper || a.counts.size() != b.counts.size()) {
    return Differ("histogram");
  }
  Histogram merged = a;
  for (std::size_t i = 0; i < merged.counts.size(); ++i) {
    QTX_ASSIGN_OR_RETURN(merged.counts[i], Add(a.counts[i], b.counts[i], "histogram.counts"));
  }
  QTX_ASSIGN_OR_RETURN(merged.below, Add(a.below, b.below, "histogram.below"));
  QTX_ASSIGN_OR_RETURN(merged.above, Add(a.above, b.above, "histogram.above"));
  return merged;
}

}  // namespace

Result<Statistics> Merge(const Statistics& a, const Statistics& b) {
  if (a.count == 0 && a.min.empty() && a.mean.empty()) {  // nothing seen yet
    Statistics merged = b;
    QTX_ASSIGN_OR_RETURN(merged.nan_count, Add(a.nan_count, b.nan_count, "nan_count"));
    QTX_ASSIGN_OR_RETURN(merged.infinity_count,
                         Add(a.infinity_count, b.infinity_count, "infinity_count"));
    return merged;
  }
  if (b.count == 0 && b.min.empty() && b.mean.empty()) return Merge(b, a);
  if (a.axis != b.axis) return Differ("axis");
  if (a.min.size() != b.min.size()) return Differ("min");
  if (a.max.size() != b.max.size()) return Differ("max");
  if (a.mean.size() != b.mean.size()) return Differ("mean");
  if (a.std.size() != b.std.size()) return Differ("std");
  if (!a.std.empty() && a.std.size() != a.mean.size()) {
    return Error{ErrorCode::kInvalid, "std", "found without a mean of equal size"};
  }
  if (a.histogram.has_value() != b.histogram.has_value()) return Differ("histogram");
  Statistics merged = a;
  for (std::size_t i = 0; i < a.min.size(); ++i) merged.min[i] = std::min(a.min[i], b.min[i]);
  for (std::size_t i = 0; i < a.max.size(); ++i) merged.max[i] = std::max(a.max[i], b.max[i]);
  QTX_ASSIGN_OR_RETURN(merged.count, Add(a.count, b.count, "count"));
  QTX_ASSIGN_OR_RETURN(merged.nan_count, Add(a.nan_count, b.nan_count, "nan_count"));
  QTX_ASSIGN_OR_RETURN(merged.infinity_count,
                       Add(a.infinity_count, b.infinity_count, "infinity_count"));
  if (merged.count != 0) MergeMoments(a, b, merged);
  if (a.histogram) {
    QTX_ASSIGN_OR_RETURN(merged.histogram, Merge(*a.histogram, *b.histogram));
  }
  return merged;
}

}  // namespace qtx::format
