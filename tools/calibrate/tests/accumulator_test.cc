// Statistics by hand, and that order leaves no trace.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>
#include <random>

#include "qtx/calibrate/statistics.h"

namespace qtx::calibrate::accumulator_test {
namespace {

using format::ExactSum;
using format::Statistics;
using format::Tensor;
using testing::ElementsAre;

Tensor Floats(format::Dims dims, const std::vector<float>& values) {
  Tensor tensor = *format::MakeTensor(format::ElementType::kFloat, std::move(dims));
  EXPECT_EQ(tensor.As<float>().size(), values.size());
  std::ranges::copy(values, tensor.As<float>().begin());
  return tensor;
}

Statistics Of(const std::vector<Tensor>& tensors, const StatisticsOptions& options) {
  StatisticsAccumulator accumulator(options);
  for (const Tensor& tensor : tensors) EXPECT_TRUE(accumulator.Add(tensor).has_value());
  return accumulator.Finish();
}

// 1 2 3 -4: sum 2, squares 1 + 4 + 9 + 16 = 30 = 15 * 2. mean 2/4. variance 30/4 - 1/4 = 29/4,
// whose root is sqrt(29) / 2 (IEEE's square root is correctly rounded, halving is exact).
TEST(Accumulator, GivesStatisticsByHand) {
  const Statistics s =
      Of({Floats({2, 3}, {1, 2, 3, -4, NAN, -INFINITY})}, StatisticsOptions{.bins = 16});
  EXPECT_THAT(s.min, ElementsAre(-4));
  EXPECT_THAT(s.max, ElementsAre(3));
  EXPECT_THAT(s.mean, ElementsAre(0.5));
  EXPECT_THAT(s.std, ElementsAre(std::sqrt(29.0) / 2));
  EXPECT_EQ(s.count, 4U);
  EXPECT_EQ(s.nan_count, 1U);
  EXPECT_EQ(s.infinity_count, 1U);
  ASSERT_EQ(s.moments.size(), 1U);
  EXPECT_EQ(s.moments[0].sum, (ExactSum{1, "\x01"}));
  EXPECT_EQ(s.moments[0].sum_of_squares, (ExactSum{1, "\x0F"}));
  // -4 to 3 spans 8 bins of width 1, 15 of width 1/2 (-8 to 6 halves), 29 of width 1/4.
  ASSERT_TRUE(s.histogram.has_value());
  EXPECT_EQ(s.histogram->lower, -4);
  EXPECT_EQ(s.histogram->upper, 3.5);
  EXPECT_THAT(s.histogram->counts, ElementsAre(1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 1));
}

// [2, 2, 2] around axis 1: channel 0 has 1 2 5 6, channel 1 has 3 4 7 8. Sums 14 and 22, squares
// 66 and 138; variances 66/4 - 49/4 = 17/4 and 138/4 - 121/4 = 17/4.
TEST(Accumulator, KeepsTheElementsOfAnAxisApart) {
  const Tensor tensor = Floats({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  for (const std::int64_t axis : {1, -2}) {
    const Statistics s = Of({tensor}, StatisticsOptions{.axis = axis});
    EXPECT_THAT(s.axis, ElementsAre(1));
    EXPECT_THAT(s.min, ElementsAre(1, 3));
    EXPECT_THAT(s.max, ElementsAre(6, 8));
    EXPECT_THAT(s.mean, ElementsAre(3.5, 5.5));
    EXPECT_THAT(s.std, ElementsAre(std::sqrt(17.0) / 2, std::sqrt(17.0) / 2));
    EXPECT_EQ(s.count, 8U);
    EXPECT_EQ(s.moments[1].count, 4U);
    EXPECT_FALSE(s.histogram.has_value());
  }
}

// The last axis is summed by columns, any other by runs: as the same numbers transposed.
TEST(Accumulator, TreatsTheLastAxisAsAnyOther) {
  std::mt19937 random(3);
  std::vector<float> rows(4200), columns(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i] = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    columns[(i % 600) * 7 + i / 600] = rows[i];
  }
  const Statistics by_run = Of({Floats({7, 600}, rows)}, {.axis = 0, .bins = 64});
  Statistics by_column = Of({Floats({600, 7}, columns)}, {.axis = 1, .bins = 64});
  by_column.axis = {0};
  EXPECT_EQ(by_run, by_column);
}

TEST(Accumulator, HasNoExtremesWithoutAFiniteValue) {
  const Statistics s = Of({Floats({2}, {NAN, INFINITY})}, StatisticsOptions{.bins = 4});
  EXPECT_TRUE(s.min.empty() && s.max.empty() && s.mean.empty() && s.std.empty());
  EXPECT_FALSE(s.histogram.has_value());
  EXPECT_EQ(s.nan_count, 1U);
  EXPECT_EQ(s.infinity_count, 1U);
}

// Channel 1 has seen nothing finite; a merge must not take its zeros for extremes.
TEST(Accumulator, KeepsAnElementWithoutFiniteValuesAtZero) {
  const Statistics a = Of({Floats({1, 2}, {-3, NAN})}, StatisticsOptions{.axis = 1});
  EXPECT_THAT(a.min, ElementsAre(-3, 0));
  EXPECT_THAT(a.moments[1].count, 0U);
  const Statistics b = Of({Floats({1, 2}, {-2, 5})}, StatisticsOptions{.axis = 1});
  for (const auto& merged : {calibrate::Merge(a, b), calibrate::Merge(b, a)}) {
    ASSERT_TRUE(merged.has_value());
    EXPECT_THAT(merged->min, ElementsAre(-3, 5));
    EXPECT_THAT(merged->max, ElementsAre(-2, 5));
  }
}

TEST(Accumulator, DoesNotShowWhichZeroCameFirst) {
  const Statistics a = Of({Floats({2}, {0.0F, -0.0F})}, {.bins = 2});
  const Statistics b = Of({Floats({2}, {-0.0F, 0.0F})}, {.bins = 2});
  EXPECT_EQ(a, b);
  EXPECT_FALSE(std::signbit(a.min[0]) || std::signbit(b.min[0]) || std::signbit(b.max[0]));
  EXPECT_EQ(a.histogram->lower, 0);
  EXPECT_EQ(a.histogram->upper, std::ldexp(1.0, -149));
}

// 0x3C01 is 1 + 2^-10 in FLOAT16; 0x3F81 is 1 + 2^-7 in BFLOAT16.
TEST(Accumulator, TakesSmallFloatsExactly) {
  Tensor half = *format::MakeTensor(format::ElementType::kFloat16, {1});
  half.As<std::uint16_t>()[0] = 0x3C01;
  EXPECT_THAT(Of({half}, {}).mean, ElementsAre(1 + std::ldexp(1.0, -10)));
  Tensor brain = *format::MakeTensor(format::ElementType::kBfloat16, {1});
  brain.As<std::uint16_t>()[0] = 0x3F81;
  EXPECT_THAT(Of({brain}, {}).mean, ElementsAre(1 + std::ldexp(1.0, -7)));
}

TEST(Accumulator, RefusesWhatItCannotSum) {
  StatisticsAccumulator accumulator({.axis = 1});
  const Tensor reals = *format::MakeTensor(format::ElementType::kDouble, {2, 2});
  EXPECT_EQ(accumulator.Add(reals).error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(accumulator.Add(Floats({2}, {1, 2})).error().where, "axis");
  Tensor cut = Floats({2, 2}, {1, 2, 3, 4});
  cut.bytes.pop_back();
  EXPECT_EQ(accumulator.Add(cut).error().code, ErrorCode::kInvalid);
  ASSERT_TRUE(accumulator.Add(Floats({1, 3}, {1, 2, 3})).has_value());
  EXPECT_EQ(accumulator.Add(Floats({1, 4}, {1, 2, 3, 4})).error().where, "axis");
}

// A sample of a random network's values: every exponent now and then, mostly near 1, some zeros.
std::vector<float> Sample(std::mt19937& random, std::size_t count) {
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) {
    const auto bits = static_cast<std::uint32_t>(random());
    value = bits % 50 == 0  ? std::bit_cast<float>(static_cast<std::uint32_t>(random()))
            : bits % 7 == 0 ? 0.0F
                            : normal(random);
  }
  return values;
}

// Source: statistics.S2 and statistics.S3: any order, any tree of merges, accumulators or what they
// finished.
TEST(Accumulator, ForgetsOrderAndTheTreeOfMerges) {
  std::mt19937 random(5);
  for (int round = 0; round < 30; ++round) {
    const StatisticsOptions options{
        .axis = round % 3 == 0 ? std::nullopt : std::optional(round % 3),
        .bins = 2 + round * round};
    std::vector<Tensor> samples;
    samples.reserve(6);
    for (int i = 0; i < 6; ++i) samples.push_back(Floats({2, 5, 60}, Sample(random, 600)));
    const Statistics whole = Of(samples, options);
    std::ranges::shuffle(samples, random);
    EXPECT_EQ(Of(samples, options), whole);
    StatisticsAccumulator total(options);
    std::vector<Statistics> parts;
    for (std::size_t i = 0; i < samples.size(); i += 2) {
      const std::vector<Tensor> part(samples.begin() + static_cast<std::ptrdiff_t>(i),
                                     samples.begin() + static_cast<std::ptrdiff_t>(i + 2));
      parts.push_back(Of(part, options));
      ASSERT_TRUE(total.Merge(parts.back()).has_value());
    }
    EXPECT_EQ(total.Finish(), whole);
    const auto left = calibrate::Merge(*calibrate::Merge(parts[0], parts[1], options.bins),
                                       parts[2], options.bins);
    const auto right = calibrate::Merge(
        parts[0], *calibrate::Merge(parts[2], parts[1], options.bins), options.bins);
    EXPECT_EQ(*left, whole);
    EXPECT_EQ(*right, whole);
  }
}

TEST(Accumulator, IsAsNewAfterClear) {
  std::mt19937 random(9);
  const StatisticsOptions options{.axis = 1, .bins = 32};
  const Tensor first = Floats({1, 4, 9}, Sample(random, 36));
  const Tensor second = Floats({1, 4, 9}, Sample(random, 36));
  StatisticsAccumulator accumulator(options);
  ASSERT_TRUE(accumulator.Add(first).has_value());
  accumulator.Clear();
  ASSERT_TRUE(accumulator.Add(second).has_value());
  EXPECT_EQ(accumulator.Finish(), Of({second}, options));
}

// All values in one rational each: floor by division of integers, widths by search from below.
TEST(DyadicHistogram, IsWhatADirectComputationGives) {
  std::mt19937 random(11);
  for (int round = 0; round < 40; ++round) {
    const std::int64_t bins = 2 + round * 7;
    std::vector<float> values = Sample(random, 300);
    std::erase_if(values, [](float v) { return !std::isfinite(v) || std::abs(v) > 1e9F; });
    const double largest = std::abs(*std::ranges::max_element(
        values, [](float a, float b) { return std::abs(a) < std::abs(b); }));
    int k = std::max(-149, static_cast<int>(std::floor(std::log2(largest))) - 23);
    std::map<std::int64_t, std::uint64_t> counts;
    for (;; ++k) {
      counts.clear();
      for (const float v : values) {
        ++counts[static_cast<std::int64_t>(
            std::floor(std::ldexp(static_cast<long double>(v), -k)))];
      }
      if (counts.rbegin()->first - counts.begin()->first < bins) break;
    }
    const Statistics s =
        Of({Floats({static_cast<std::int64_t>(values.size())}, values)}, {.bins = bins});
    ASSERT_TRUE(s.histogram.has_value());
    EXPECT_EQ(s.histogram->lower, std::ldexp(static_cast<double>(counts.begin()->first), k));
    EXPECT_EQ(s.histogram->upper, std::ldexp(static_cast<double>(counts.rbegin()->first + 1), k));
    for (std::size_t i = 0; i < s.histogram->counts.size(); ++i) {
      const auto found = counts.find(counts.begin()->first + static_cast<std::int64_t>(i));
      EXPECT_EQ(s.histogram->counts[i], found == counts.end() ? 0 : found->second);
    }
  }
}

// -2^-149 lies in bin -1 of any width: rounding toward zero would put it beside 0.
TEST(DyadicHistogram, RoundsTinyNegativesDown) {
  const Statistics s = Of({Floats({3}, {-std::ldexp(1.0F, -149), 0.0F, 1.0F})}, {.bins = 3});
  EXPECT_EQ(s.histogram->lower, -1);
  EXPECT_THAT(s.histogram->counts, ElementsAre(1, 1, 1));
}

}  // namespace
}  // namespace qtx::calibrate::accumulator_test
