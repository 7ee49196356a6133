#include "qtx/format/statistics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace qtx::format {
namespace {

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

}  // namespace
}  // namespace qtx::format
