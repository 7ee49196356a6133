#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "dyadic_histogram.h"
#include "exact_sum.h"
#include "float_sums.h"
#include "qtx/calibrate/statistics.h"

namespace qtx::calibrate {
namespace {

using format::ElementType;
using format::Statistics;
using format::Tensor;

constexpr float kBeyond = std::numeric_limits<float>::infinity();

// A tensor as [outer, size, inner] around the axis; [1, 1, all] without one.
struct Layout {
  std::size_t outer = 1;
  std::size_t size = 1;
  std::size_t inner = 1;
};

Result<Layout> LayoutOf(const format::Dims& dims, std::optional<std::int64_t> axis) {
  QTX_ASSIGN_OR_RETURN(const std::int64_t count, format::ElementCount(dims));
  Layout layout;
  if (!axis) {
    layout.inner = static_cast<std::size_t>(count);
    return layout;
  }
  auto at = format::NormalizeAxis(*axis, std::ssize(dims));
  if (!at.has_value()) return At("axis", at.error());
  for (std::int64_t i = 0; i < std::ssize(dims); ++i) {
    const auto dim = static_cast<std::size_t>(dims[static_cast<std::size_t>(i)]);
    (i < *at ? layout.outer : i == *at ? layout.size : layout.inner) *= dim;
  }
  return layout;
}

// The elements as floats, which hold every FLOAT16 and BFLOAT16 exactly.
Result<std::span<const float>> AsFloats(const Tensor& tensor, std::vector<float>& storage) {
  const bool small =
      tensor.elem_type == ElementType::kFloat16 || tensor.elem_type == ElementType::kBfloat16;
  if (tensor.elem_type != ElementType::kFloat && !small) {
    return Error{ErrorCode::kUnsupported, "",
                 "found elements of type " + std::string(format::Name(tensor.elem_type)) +
                     ", expected FLOAT, FLOAT16 or BFLOAT16"};
  }
  QTX_ASSIGN_OR_RETURN(const std::int64_t count, format::ElementCount(tensor.dims));
  QTX_ASSIGN_OR_RETURN(const std::int64_t bytes, format::PackedBytes(tensor.elem_type, count));
  if (std::ssize(tensor.bytes) != bytes) {
    return Error{ErrorCode::kInvalid, "",
                 "found " + std::to_string(tensor.bytes.size()) + " bytes, expected " +
                     std::to_string(bytes)};
  }
  if (!small) return tensor.As<float>();
  storage.reserve(static_cast<std::size_t>(count));
  for (const std::uint16_t code : tensor.As<std::uint16_t>()) {
    storage.push_back(static_cast<float>(format::DecodeSmallFloat(tensor.elem_type, code)));
  }
  return std::span<const float>(storage);
}

std::vector<double> Exactly(const std::vector<float>& values,
                            const std::vector<std::uint64_t>& counts) {
  std::vector<double> reals;
  for (std::size_t i = 0; i < values.size(); ++i) {
    // Minus zero becomes zero, so that the result does not depend on the order.
    reals.push_back(counts[i] == 0 ? 0.0 : double{values[i]} + 0.0);
  }
  return reals;
}

}  // namespace

struct StatisticsAccumulator::State {
  StatisticsOptions options;
  std::optional<std::int64_t> axis;  // from 0, known from the first tensor on
  // One for each element of the axis; empty before the first tensor.
  std::vector<float> min, max;
  std::vector<std::uint64_t> counts;
  std::vector<FloatSums> sums;
  std::uint64_t nan_count = 0;
  std::uint64_t infinity_count = 0;
  std::optional<DyadicHistogram> histogram;

  Result<void> Fit(std::size_t size, std::optional<std::int64_t> at);
  void AddRun(std::span<const float> run, std::size_t c, ExponentBins& bins);
  void AddRuns(std::span<const float> values, const Layout& layout);
  void AddColumns(std::span<const float> values, const Layout& layout);
  void AddToHistogram(std::span<const float> values, bool all_finite);
};

StatisticsAccumulator::StatisticsAccumulator(const StatisticsOptions& options)
    : state_(std::make_unique<State>()) {
  state_->options = options;
  if (options.bins != 0) state_->histogram.emplace(options.bins);
}
StatisticsAccumulator::StatisticsAccumulator(StatisticsAccumulator&&) noexcept = default;
StatisticsAccumulator& StatisticsAccumulator::operator=(StatisticsAccumulator&&) noexcept = default;
StatisticsAccumulator::~StatisticsAccumulator() = default;

// Makes room at the first tensor.
Result<void> StatisticsAccumulator::State::Fit(std::size_t size, std::optional<std::int64_t> at) {
  if (sums.empty()) {
    axis = at;
    min.assign(size, kBeyond);
    max.assign(size, -kBeyond);
    counts.assign(size, 0);
    sums.assign(size, {});
    return {};
  }
  if (sums.size() == size && axis == at) return {};
  return Error{ErrorCode::kInvalid, "axis",
               "found " + std::to_string(size) + " elements, expected " +
                   std::to_string(sums.size()) + " as before"};
}

void StatisticsAccumulator::State::AddRun(std::span<const float> run, std::size_t c,
                                          ExponentBins& bins) {
  const Extremes found = FindExtremes(run);
  min[c] = std::min(min[c], found.min);
  max[c] = std::max(max[c], found.max);
  counts[c] += found.count;
  nan_count += found.nan_count;
  infinity_count += found.infinity_count;
  if (run.size() > kFewValues) {
    bins.Add(run, found, sums[c]);
  } else {
    AddFew(run, sums[c]);
  }
}

// Contiguous elements belong to one element of the axis.
void StatisticsAccumulator::State::AddRuns(std::span<const float> values, const Layout& layout) {
  ExponentBins bins;
  for (std::size_t run = 0; run < layout.outer * layout.size; ++run) {
    AddRun(values.subspan(run * layout.inner, layout.inner), run % layout.size, bins);
  }
}

// The axis is the last: transposes blocks of rows.
void StatisticsAccumulator::State::AddColumns(std::span<const float> values, const Layout& layout) {
  constexpr std::size_t kRows = 256;
  constexpr std::size_t kColumns = 16;  // a cache line
  ExponentBins bins;
  std::array<std::array<float, kRows>, kColumns> block;
  for (std::size_t first = 0; first < layout.outer; first += kRows) {
    const std::size_t rows = std::min(kRows, layout.outer - first);
    for (std::size_t c = 0; c < layout.size; c += kColumns) {
      const std::size_t columns = std::min(kColumns, layout.size - c);
      for (std::size_t row = 0; row < rows; ++row) {
        const float* const from = values.data() + (first + row) * layout.size + c;
        for (std::size_t i = 0; i < columns; ++i) block[i][row] = from[i];
      }
      for (std::size_t i = 0; i < columns; ++i) {
        AddRun(std::span<const float>(block[i]).first(rows), c + i, bins);
      }
    }
  }
}

void StatisticsAccumulator::State::AddToHistogram(std::span<const float> values, bool all_finite) {
  const float low = *std::ranges::min_element(min);
  const float high = *std::ranges::max_element(max);
  if (!histogram || low > high) return;
  histogram->Cover(low, high);
  histogram->Add(values, all_finite);
}

Result<void> StatisticsAccumulator::Add(const Tensor& tensor) {
  State& state = *state_;
  std::vector<float> storage;
  QTX_ASSIGN_OR_RETURN(const std::span<const float> values, AsFloats(tensor, storage));
  QTX_ASSIGN_OR_RETURN(const Layout layout, LayoutOf(tensor.dims, state.options.axis));
  std::optional<std::int64_t> axis = state.options.axis;
  if (axis) axis = *format::NormalizeAxis(*axis, std::ssize(tensor.dims));
  QTX_RETURN_IF_ERROR(state.Fit(layout.size, axis));
  if (values.empty()) return {};
  const std::uint64_t beyond = state.nan_count + state.infinity_count;
  if (layout.inner == 1 && layout.size > 1) {
    state.AddColumns(values, layout);
  } else {
    state.AddRuns(values, layout);
  }
  state.AddToHistogram(values, state.nan_count + state.infinity_count == beyond);
  return {};
}

Result<void> StatisticsAccumulator::Merge(const StatisticsAccumulator& other) {
  State& state = *state_;
  const State& from = *other.state_;
  if (state.options.bins != from.options.bins) {
    return Error{ErrorCode::kInvalid, "histogram", "the numbers of bins differ"};
  }
  state.nan_count += from.nan_count;
  state.infinity_count += from.infinity_count;
  if (from.sums.empty()) return {};
  QTX_RETURN_IF_ERROR(state.Fit(from.sums.size(), from.axis));
  for (std::size_t c = 0; c < state.sums.size(); ++c) {
    state.min[c] = std::min(state.min[c], from.min[c]);
    state.max[c] = std::max(state.max[c], from.max[c]);
    state.counts[c] += from.counts[c];
    state.sums[c].Add(from.sums[c]);
  }
  if (state.histogram) state.histogram->Add(*from.histogram);
  return {};
}

Result<void> StatisticsAccumulator::Merge(const Statistics& other) {
  StatisticsAccumulator from(state_->options);
  State& state = *from.state_;
  const std::size_t size = other.moments.size();
  const bool seen = other.count != 0;
  const auto fits = [&](const std::vector<double>& v) { return v.size() == (seen ? size : 0); };
  if (size == 0 || size > static_cast<std::size_t>(format::kMaxParameters) || !fits(other.min) ||
      !fits(other.max) || other.axis.size() != (state.options.axis ? 1U : 0U) ||
      (!state.options.axis && size != 1)) {
    return Error{ErrorCode::kInvalid, "moments", "expected as many as the axis has elements"};
  }
  std::optional<std::int64_t> axis;
  if (!other.axis.empty()) axis = other.axis[0];
  QTX_RETURN_IF_ERROR(state.Fit(size, axis));
  for (std::size_t c = 0; c < size; ++c) {
    const format::Moments& moments = other.moments[c];
    state.counts[c] = moments.count;
    if (moments.count == 0) continue;
    if (!seen || static_cast<double>(static_cast<float>(other.min[c])) != other.min[c] ||
        static_cast<double>(static_cast<float>(other.max[c])) != other.max[c] ||
        !state.sums[c].sum.Add(moments.sum) ||
        !state.sums[c].sum_of_squares.Add(moments.sum_of_squares)) {
      return Error{ErrorCode::kInvalid, "moments", "expected sums of binary32 values"};
    }
    state.min[c] = static_cast<float>(other.min[c]);
    state.max[c] = static_cast<float>(other.max[c]);
  }
  state.nan_count = other.nan_count;
  state.infinity_count = other.infinity_count;
  if (state.histogram && seen) {
    if (other.histogram) {
      state.histogram = DyadicHistogram::From(*other.histogram, state.options.bins);
    }
    if (!other.histogram || !state.histogram) {
      return Error{ErrorCode::kInvalid, "histogram", "expected bins of width 2^k, statistics.S3"};
    }
  }
  return Merge(from);
}

Statistics StatisticsAccumulator::Finish() const {
  const State& state = *state_;
  Statistics result;
  result.nan_count = state.nan_count;
  result.infinity_count = state.infinity_count;
  if (state.axis) result.axis = {*state.axis};
  for (std::size_t c = 0; c < state.sums.size(); ++c) {
    const FloatSums& sums = state.sums[c];
    result.moments.push_back({.count = state.counts[c],
                              .sum = sums.sum.ToExact(),
                              .sum_of_squares = sums.sum_of_squares.ToExact()});
    result.count += state.counts[c];
  }
  if (result.count == 0) return result;
  result.min = Exactly(state.min, state.counts);
  result.max = Exactly(state.max, state.counts);
  for (const format::Moments& moments : result.moments) {
    // Sums of real data are always consistent.
    const MeanAndStd rounded = moments.count == 0 ? MeanAndStd{} : *Round(moments);
    result.mean.push_back(rounded.mean);
    result.std.push_back(rounded.std);
  }
  if (state.histogram) result.histogram = state.histogram->Finish();
  return result;
}

void StatisticsAccumulator::Clear() {
  State& state = *state_;
  std::ranges::fill(state.min, kBeyond);
  std::ranges::fill(state.max, -kBeyond);
  std::ranges::fill(state.counts, 0U);
  std::ranges::fill(state.sums, FloatSums());
  state.nan_count = state.infinity_count = 0;
  if (state.histogram) state.histogram->Clear();
}

}  // namespace qtx::calibrate
