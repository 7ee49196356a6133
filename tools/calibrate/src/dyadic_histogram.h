// Histograms with bins of width 2^k at multiples of 2^k. k depends only on the extremes, so that
// the result does not depend on the order of values or merges.  Source: statistics.S3.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "qtx/format/limits.h"
#include "qtx/format/statistics.h"

namespace qtx::calibrate {

class DyadicHistogram {
 public:
  /// REQUIRES: 2 <= max_bins <= kMaxHistogramBins.
  explicit DyadicHistogram(std::int64_t max_bins) : max_bins_(max_bins) {}
  /// Converts `histogram` if it is dyadic (as Finish gives it, with any number of bins); else
  /// nullopt.
  static std::optional<DyadicHistogram> From(const format::Histogram& histogram,
                                             std::int64_t max_bins);

  /// Widens bins and range until min and max are in it.  REQUIRES: both finite, min <= max.
  void Cover(float min, float max);
  /// Skips NaN and infinities.  REQUIRES: all other values are covered.
  void Add(std::span<const float> values, bool all_finite);
  /// REQUIRES: no count passes 2^64.
  void Add(const DyadicHistogram& other);
  /// nullopt when nothing is covered.
  std::optional<format::Histogram> Finish() const;
  void Clear() { *this = DyadicHistogram(max_bins_); }

 private:
  using Counts = std::vector<std::uint64_t>;
  using Packed = std::vector<std::pair<std::uint32_t, std::uint64_t>>;  // bin and count above 0

  // Bins `first` to `last`, of width 2^exponent; bin i holds [i, i + 1) * 2^exponent.
  struct Range {
    int exponent = 0;
    std::int64_t first = 0;
    std::int64_t last = 0;
  };
  Range range() const;
  void Reach(Range range);
  void AddBlock(std::span<const float> values, bool all_finite, std::span<std::uint32_t> scratch);
  void Fold(std::span<std::uint32_t> scratch);
  void Pack();
  void Unpack();
  Counts Unpacked() const;

  std::int64_t max_bins_;
  int exponent_ = 0;
  std::int64_t first_ = 0;
  std::int64_t size_ = 0;  // number of bins; 0: nothing is covered
  // Between calls the counts of few values are packed: a graph has many small tensors.
  Counts counts_;
  Packed packed_;
};

}  // namespace qtx::calibrate
