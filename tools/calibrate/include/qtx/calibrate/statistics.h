// Statistics of tensors, kept exactly: whoever adds what in which order gets the same bits.
// Source: spec/format/statistics.md, statistics.S2 and statistics.S3.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "qtx/format/limits.h"
#include "qtx/format/result.h"
#include "qtx/format/statistics.h"
#include "qtx/format/tensor.h"

namespace qtx::calibrate {

struct StatisticsOptions {
  /// Of min, max, mean, std and moments; counted from the end where negative.
  std::optional<std::int64_t> axis;
  /// Of the histogram of the whole tensor, at most; 0: none, else 2 to kMaxHistogramBins.
  std::int64_t bins = 0;
};

/// Takes tensors of one value, one after the other.
class StatisticsAccumulator {
 public:
  explicit StatisticsAccumulator(const StatisticsOptions& options);
  StatisticsAccumulator(StatisticsAccumulator&&) noexcept;
  StatisticsAccumulator& operator=(StatisticsAccumulator&&) noexcept;
  ~StatisticsAccumulator();

  /// Errors: kUnsupported unless it is FLOAT, FLOAT16 or BFLOAT16 without quantization; kInvalid
  /// without the axis, where its size is another than before, or where bytes and dims disagree.
  Result<void> Add(const format::Tensor& tensor);
  /// What `other` took, too.  Errors: kInvalid for an axis or a number of bins unlike this one's.
  Result<void> Merge(const StatisticsAccumulator& other);
  /// The same of what Finish gave.  Errors: kInvalid also without moments, where they are not sums
  /// of binary32 values, and without a dyadic histogram where this one has bins.
  Result<void> Merge(const format::Statistics& other);
  /// Mean and std are the exact ones, rounded once, half even. An element of the axis without a
  /// finite value has 0 everywhere; a tensor without any has no min, max, mean, std, histogram.
  format::Statistics Finish() const;
  /// As new, with the memory it has.
  void Clear();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Statistics of the union of the two samples. Where both have moments everything is exact; else
/// mean and std combine by count (Chan, Golub, LeVeque 1979), and moments are dropped. Dyadic
/// histograms are joined at the coarser width, then pairs of bins until at most `max_bins`; others
/// must have equal bounds and numbers of bins.
/// Errors: kInvalid when axes, vector sizes or histograms do not match, when moments contradict
/// min and max, or when max_bins < 2; kTooLarge when a count or a sum passes what its field holds.
/// Source: statistics.S2.
Result<format::Statistics> Merge(const format::Statistics& a, const format::Statistics& b,
                                 std::int64_t max_bins = format::kMaxHistogramBins);

/// Per-tensor statistics of per-axis ones; as they are without an axis.
/// Errors: those of Merge; kInvalid without moments.
Result<format::Statistics> WithoutAxis(const format::Statistics& statistics);

}  // namespace qtx::calibrate
