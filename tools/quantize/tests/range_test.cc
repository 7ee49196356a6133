// Ranges of each method, against their definitions in another language.
#include "qtx/quantize/range.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "elementary.h"

namespace qtx::quantize::range_test {
namespace {

using format::ElementType;
using format::Scheme;

format::Statistics Of(double lower, double upper, std::vector<std::uint64_t> counts, double min,
                      double max) {
  format::Statistics statistics;
  statistics.min = {min};
  statistics.max = {max};
  statistics.histogram = format::Histogram{lower, upper, std::move(counts)};
  return statistics;
}

// Source: derive_ranges.py.
#include "histograms.inc"

struct Row {
  const format::Statistics& statistics;
  const char* method;
  TypeSpec spec;
  double min, max;
};
const std::vector<Row> kRows = {
#include "ranges.inc"
};

TEST(RangeOf, GivesWhatTheDefinitionsGive) {
  for (const Row& row : kRows) {
    SCOPED_TRACE(testing::Message() << row.method << " " << format::Name(row.spec.storage) << " "
                                    << format::Name(row.spec.scheme));
    const auto methods = ParseRangeMethods(row.method);
    ASSERT_TRUE(methods.has_value());
    const auto found = RangeOf(row.statistics, *methods, row.spec);
    ASSERT_TRUE(found.has_value());
    // Interpolated in binary64 here, in fractions there.
    EXPECT_NEAR(found->range.min, row.min, 1e-9);
    EXPECT_NEAR(found->range.max, row.max, 1e-9);
  }
}

format::Statistics WithoutHistogram() {
  format::Statistics statistics;
  statistics.min = {-1, -3};
  statistics.max = {2, 8};
  statistics.mean = {0, 2};
  statistics.std = {1, 1};
  statistics.axis = {1};
  return statistics;
}

// Pooled: mean 1, E[x^2] = (1 + 0 + 1 + 4) / 2 = 3, so that std is sqrt(3 - 1).
TEST(RangeOf, PoolsChannels) {
  const auto minmax = RangeOf(WithoutHistogram(), {RangeMethod{}}, {});
  EXPECT_EQ(minmax->range, (Range{-3, 8}));
  const auto std = RangeOf(WithoutHistogram(), *ParseRangeMethods("std=2"), {});
  EXPECT_DOUBLE_EQ(std->range.min, 1 - 2 * std::sqrt(2.0));
  EXPECT_DOUBLE_EQ(std->range.max, 1 + 2 * std::sqrt(2.0));
  const auto wide = RangeOf(WithoutHistogram(), *ParseRangeMethods("std=100"), {});
  EXPECT_EQ(wide->range, (Range{-3, 8}));  // no further than the extremes
}

TEST(RangeOf, FallsBackOnlyWhereItIsAllowed) {
  const auto refused = RangeOf(WithoutHistogram(), *ParseRangeMethods("entropy"), {});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().message, "found none of what is needed: entropy needs a histogram");
  const auto fallback = RangeOf(WithoutHistogram(), *ParseRangeMethods("entropy,minmax"), {});
  ASSERT_TRUE(fallback.has_value());
  EXPECT_EQ(ToText(fallback->method), "minmax");
  EXPECT_FALSE(RangeOf(format::Statistics{}, {RangeMethod{}}, {}).has_value());
}

// 0.5 percent of 1000 at either end are 5.
TEST(RangeOf, CountsTheNumbersThemselves) {
  std::vector<float> values;
  for (int i = 0; i < 1000; ++i) values.push_back(static_cast<float>(i - 500));
  const auto found = RangeOf(values, *ParseRangeMethods("percentile=99"), {});
  EXPECT_EQ(found->range, (Range{-496, 494}));
}

TEST(RangeOf, OfOneValueIsThatValue) {
  const std::vector<float> one(100, 0.75F);
  for (const char* method : {"minmax", "percentile=99", "std=3", "entropy", "mse", "lp=3"}) {
    const auto found = RangeOf(one, *ParseRangeMethods(method), {});
    ASSERT_TRUE(found.has_value()) << method;
    EXPECT_LE(found->range.max, 0.75) << method;
    EXPECT_GT(found->range.max, 0.7) << method;
  }
}

TEST(RangeMethods, AreReadAsTheyArePrinted) {
  for (const char* text : {"minmax", "percentile=99.99", "std=3", "entropy", "mse", "lp=2.4"})
    EXPECT_EQ(ToText(ParseRangeMethods(text)->front()), text);
  for (const char* text : {"", "min", "minmax=1", "percentile", "percentile=50", "percentile=101",
                           "std=nan", "std=0", "lp=x", "mse,", "entropy,,mse"})
    EXPECT_FALSE(ParseRangeMethods(text).has_value()) << text;
}

// glibc's own are within 1 ulp; these need no more than that what is chosen does not depend on
// them.
TEST(Elementary, AgreesWithTheLibrary) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> exponent(-300, 300);
  for (int i = 0; i < 10000; ++i) {
    const double x = std::exp(exponent(random));
    EXPECT_NEAR(Log2(x), std::log2(x), 0x1p-49 * std::max(1.0, std::abs(std::log2(x))));
    const double base = std::exp(exponent(random) / 100);
    EXPECT_NEAR(Power(base, 2.5) / std::pow(base, 2.5), 1, 0x1p-44);
  }
  EXPECT_EQ(Log2(0x1p-1074), -1074);
  EXPECT_EQ(Power(0, 2.5), 0);
}

}  // namespace
}  // namespace qtx::quantize::range_test
