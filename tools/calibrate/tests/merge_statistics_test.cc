// What two samples say together.  Source: statistics.S2.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "qtx/calibrate/statistics.h"

namespace qtx::calibrate::merge_statistics_test {
namespace {

using format::Histogram;
using format::Moments;
using format::Statistics;

using testing::ElementsAre;

Statistics Of(double min, double max, double mean, double std, std::uint64_t count) {
  Statistics s;
  s.min = {min};
  s.max = {max};
  s.mean = {mean};
  s.std = {std};
  s.count = count;
  return s;
}

// {0, 2} has mean 1, variance 1; {4, 6, 8, 10} mean 7, variance 5. All six: mean 30 / 6 = 5,
// squares 0 4 16 36 64 100 = 220, variance 220 / 6 - 25 = 35 / 3.
// Source: statistics.S2.
TEST(MergeStatistics, GivesThoseOfTheUnion) {
  Statistics a = Of(0, 2, 1, 1, 2);
  Statistics b = Of(4, 10, 7, std::sqrt(5.0), 4);
  a.nan_count = 1;
  b.nan_count = 2;
  b.infinity_count = 3;
  for (const auto& merged : {Merge(a, b), Merge(b, a)}) {
    ASSERT_TRUE(merged.has_value());
    EXPECT_EQ(merged->min[0], 0);
    EXPECT_EQ(merged->max[0], 10);
    EXPECT_NEAR(merged->mean[0], 5, 1e-15);
    EXPECT_NEAR(merged->std[0], std::sqrt(35.0 / 3), 1e-14);
    EXPECT_EQ(merged->count, 6U);
    EXPECT_EQ(merged->nan_count, 3U);
    EXPECT_EQ(merged->infinity_count, 3U);
  }
}

// Per axis 0 of a [2, n] tensor: each row is half of the count, so the weights are the same.
// Row 0: {1, 3} and {5}: sizes 2 and 1 a row. mean 3, variance (4 + 0 + 4) / 3. Row 1: {0, 0} and
// {3}: mean 1, variance 2.
TEST(MergeStatistics, WeighsEachElementOfANamedAxisAlike) {
  Statistics a;
  a.axis = {0};
  a.min = {1, 0};
  a.max = {3, 0};
  a.mean = {2, 0};
  a.std = {1, 0};
  a.count = 4;
  Statistics b = a;
  b.min = b.max = b.mean = {5, 3};
  b.std = {0, 0};
  b.count = 2;
  const auto merged = Merge(a, b);
  ASSERT_TRUE(merged.has_value());
  EXPECT_THAT(merged->min, ElementsAre(1, 0));
  EXPECT_THAT(merged->max, ElementsAre(5, 3));
  EXPECT_NEAR(merged->mean[0], 3, 1e-15);
  EXPECT_NEAR(merged->mean[1], 1, 1e-15);
  EXPECT_NEAR(merged->std[0], std::sqrt(8.0 / 3), 1e-15);
  EXPECT_NEAR(merged->std[1], std::sqrt(2.0), 1e-15);
}

TEST(MergeStatistics, AddsHistogramsBinByBin) {
  Statistics a = Of(0, 2, 1, 1, 2);
  a.histogram = Histogram{0, 2, {1, 2, 3}, 4, 5};
  Statistics b = a;
  b.histogram = Histogram{0, 2, {10, 20, 30}, 40, 50};
  EXPECT_EQ(*Merge(a, b)->histogram, (Histogram{0, 2, {11, 22, 33}, 44, 55}));
}

TEST(MergeStatistics, TakesAnEmptySampleAsNothing) {
  const Statistics a = Of(0, 2, 1, 1, 2);
  Statistics empty;
  empty.nan_count = 7;
  Statistics expected = a;
  expected.nan_count = 7;
  EXPECT_EQ(*Merge(a, empty), expected);
  EXPECT_EQ(*Merge(empty, a), expected);
  EXPECT_TRUE(Merge(Statistics{}, Statistics{}).has_value());
}

TEST(MergeStatistics, DoesNotOverflowOnHugeValues) {
  const auto merged = Merge(Of(-1e300, 1e300, -1e300, 0, 1), Of(-1e300, 1e300, 1e300, 0, 1));
  ASSERT_TRUE(merged.has_value());
  EXPECT_NEAR(merged->mean[0], 0, 1e285);
}

// The mean of one value and 2^60 others is next to the others.  Source: statistics.C2, S2.
TEST(MergeStatistics, KeepsTheMeanWithinTheExtremes) {
  const double one = 0.6597520378321892, others = -0.8229638137805433;
  const auto merged =
      Merge(Of(one, one, one, 0, 1), Of(others, others, others, 0, std::uint64_t{1} << 60));
  EXPECT_EQ(merged->mean[0], others);
}

// low, high, high, low: they deviate by half of the range, an ulp less than what the update's
// roundings make of them.  Source: statistics.C2, S2.
TEST(MergeStatistics, KeepsTheDeviationWithinHalfOfTheRange) {
  const double low = 0.9560342718892494, high = 1.9038617589485987;
  Statistics all = Of(low, low, low, 0, 1);
  for (const double value : {high, high, low}) all = *Merge(all, Of(value, value, value, 0, 1));
  EXPECT_EQ(all.std[0], (high - low) / 2);
}

TEST(MergeStatistics, RefusesSamplesThatDoNotMatch) {
  const Statistics a = Of(0, 2, 1, 1, 2);
  Statistics axes = a;
  axes.axis = {0};
  Statistics sizes = a;
  sizes.min = {0, 0};
  Statistics unmeasured = a;
  unmeasured.std.clear();
  Statistics histogram = a;
  histogram.histogram = Histogram{0, 2, {1}, 0, 1};
  for (const Statistics& b : {axes, sizes, unmeasured, histogram}) {
    EXPECT_EQ(Merge(a, b).error().code, ErrorCode::kInvalid);
  }
  Statistics bounds = histogram;
  bounds.histogram->upper = 3;
  EXPECT_EQ(Merge(histogram, bounds).error().where, "histogram");
}

TEST(MergeStatistics, RefusesCountsThatPass64Bits) {
  Statistics a = Of(0, 2, 1, 1, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(Merge(a, Of(0, 2, 1, 1, 1)).error().code, ErrorCode::kTooLarge);
}

// The rounded means 1/3 and 2/3 of (0, 0, 1) and (0, 1, 1) are not what their union's 1/2 is made
// of, but their sums 1 and 2 are: 3 / 6. Squares 1 + 2, std = sqrt(6 * 3 - 3^2) / 6 = 1/2.
TEST(MergeStatistics, IsExactWhereBothHaveMoments) {
  Statistics a = Of(0, 1, 1.0 / 3, std::sqrt(2.0) / 3, 3);
  a.moments = {Moments{3, {0, "\x01"}, {0, "\x01"}}};
  Statistics b = Of(0, 1, 2.0 / 3, std::sqrt(2.0) / 3, 3);
  b.moments = {Moments{3, {1, "\x01"}, {1, "\x01"}}};
  const auto merged = Merge(a, b);
  ASSERT_TRUE(merged.has_value());
  EXPECT_THAT(merged->mean, ElementsAre(0.5));
  EXPECT_THAT(merged->std, ElementsAre(0.5));
  EXPECT_EQ(merged->moments[0], (Moments{6, {0, "\x03"}, {0, "\x03"}}));
  b.moments.clear();
  EXPECT_TRUE(Merge(a, b)->moments.empty());
}

// Sums beyond binary32's: 2^1000 and 2^-1000 of another tool's doubles.
TEST(MergeStatistics, AddsSumsOfAnySize) {
  Statistics a = Of(0, std::ldexp(1, 1000), std::ldexp(1, 1000), 0, 1);
  a.moments = {Moments{1, {1000, "\x01"}, {1024, "\x01"}}};
  a.moments[0].sum_of_squares = {1024, std::string(122, '\0') + "\x01"};  // 2^2000
  a.moments[0].sum_of_squares.integer[0] = 1;
  Statistics b = Of(0, 0, 0, 0, 1);
  b.moments = {Moments{1, {-1000, "\x01"}, {0, "\x01"}}};
  b.max = {1};
  const auto merged = Merge(a, b);
  // 2^2000 takes more than 128 bytes from 2^0 on.
  ASSERT_FALSE(merged.has_value());
  EXPECT_EQ(merged.error().code, ErrorCode::kTooLarge);
}

// Widths 1 and 4: -1 0 1 2 and -4 0; in bins of 4: -4 .. -1, 0 .. 3.
TEST(MergeStatistics, JoinsDyadicHistogramsAtTheCoarserWidth) {
  Statistics a = Of(-1, 2.5, 0, 1, 10);
  a.histogram = Histogram{-1, 3, {1, 2, 3, 4}, 0, 0};
  Statistics b = Of(-4, 3, 0, 1, 30);
  b.histogram = Histogram{-4, 4, {10, 20}, 0, 0};
  EXPECT_EQ(*Merge(a, b)->histogram, (Histogram{-4, 4, {11, 29}, 0, 0}));
  EXPECT_EQ(*Merge(b, a)->histogram, (Histogram{-4, 4, {11, 29}, 0, 0}));
}

// 0 .. 4 and 8 .. 12 in bins of 1 are 12 bins; with at most 4 of them they are 3 of width 4.
TEST(MergeStatistics, CoarsensUntilThereAreFewEnoughBins) {
  Statistics a = Of(0, 3.5, 1, 1, 10);
  a.histogram = Histogram{0, 4, {1, 2, 3, 4}, 0, 0};
  Statistics b = Of(8, 11.5, 9, 1, 10);
  b.histogram = Histogram{8, 12, {4, 3, 2, 1}, 0, 0};
  EXPECT_EQ(Merge(a, b)->histogram->counts.size(), 12U);
  EXPECT_EQ(*Merge(a, b, 4)->histogram, (Histogram{0, 12, {10, 0, 10}, 0, 0}));
  EXPECT_EQ(Merge(a, b, 1).error().where, "histogram");
}

TEST(MergeStatistics, RefusesSumsThatContradictTheExtremes) {
  Statistics a = Of(0, 1, 0.5, 0, 1);
  a.moments = {Moments{1, {0, "\x09"}, {0, "\x51"}}};  // a single 9
  EXPECT_EQ(Merge(a, a).error().where, "moments");
  a.moments = {Moments{2, {0, "\x01"}, {-2, "\x01"}}};  // squares below those of equal numbers
  EXPECT_EQ(Merge(a, a).error().where, "moments");
}

TEST(WithoutAxis, IsTheSameAsWithoutFromTheBeginning) {
  Statistics a;
  a.axis = {1};
  a.min = {-1, 0, 2};
  a.max = {3, 0, 4};
  a.mean = {1, 0, 3};
  a.std = {2, 0, 1};
  a.count = 4;
  // -1 and 3; nothing; 2 and 4. Together -1 2 3 4: sum 8, squares 30.
  a.moments = {Moments{2, {1, "\x01"}, {1, "\x05"}}, Moments{},
               Moments{2, {1, "\x03"}, {2, "\x05"}}};
  const auto whole = WithoutAxis(a);
  ASSERT_TRUE(whole.has_value());
  EXPECT_TRUE(whole->axis.empty());
  EXPECT_THAT(whole->min, ElementsAre(-1));
  EXPECT_THAT(whole->max, ElementsAre(4));
  EXPECT_THAT(whole->mean, ElementsAre(2));
  EXPECT_THAT(whole->std, ElementsAre(std::sqrt(4 * 30.0 - 64) / 4));
}

}  // namespace
}  // namespace qtx::calibrate::merge_statistics_test
