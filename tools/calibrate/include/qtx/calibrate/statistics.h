// Exact statistics of tensors: the result does not depend on the order of additions.
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
  /// Axis of min, max, mean, std and moments; negative counts from the end.
  std::optional<std::int64_t> axis;
  /// Maximal number of histogram bins, 2 to kMaxHistogramBins; 0: no histogram. The histogram is
  /// per tensor.
  std::int64_t bins = 0;
};

/// Accumulates the tensors of one value.
class StatisticsAccumulator {
 public:
  explicit StatisticsAccumulator(const StatisticsOptions& options);
  StatisticsAccumulator(StatisticsAccumulator&&) noexcept;
  StatisticsAccumulator& operator=(StatisticsAccumulator&&) noexcept;
  ~StatisticsAccumulator();

  /// Errors: kUnsupported for types other than unquantized FLOAT, FLOAT16 and BFLOAT16; kInvalid if
  /// the axis is missing or its size changes, or if bytes and dims disagree.
  Result<void> Add(const format::Tensor& tensor);
  /// Adds what `other` accumulated.  Errors: kInvalid if axis or bins differ.
  Result<void> Merge(const StatisticsAccumulator& other);
  /// Adds the result of a Finish.  Errors: also kInvalid without moments, for moments that are not
  /// sums of binary32 values, and without a dyadic histogram if this one has bins.
  Result<void> Merge(const format::Statistics& other);
  /// Mean and std are exact, rounded once, half to even. An element of the axis without finite
  /// values has 0 everywhere; a tensor without finite values has no min, max, mean, std and
  /// histogram.
  format::Statistics Finish() const;
  /// Resets to the initial state but keeps the memory.
  void Clear();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Statistics of the union of two samples. If both have moments the result is exact; else mean and
/// std are combined by count (Chan, Golub, LeVeque 1979) and moments dropped. Dyadic histograms are
/// merged at the coarser width, then by pairs of bins down to `max_bins`; others must have equal
/// bounds and numbers of bins.
/// Errors: kInvalid when axes, vector sizes or histograms do not match, when moments contradict
/// min and max, or when max_bins < 2; kTooLarge when a count or sum overflows its field.
/// Source: statistics.S2.
Result<format::Statistics> Merge(const format::Statistics& a, const format::Statistics& b,
                                 std::int64_t max_bins = format::kMaxHistogramBins);

/// Reduces per-axis statistics to per-tensor ones.
/// Errors: those of Merge; kInvalid without moments.
Result<format::Statistics> WithoutAxis(const format::Statistics& statistics);

}  // namespace qtx::calibrate
