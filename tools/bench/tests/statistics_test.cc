#include "qtx/bench/statistics.h"

#include <gtest/gtest.h>

namespace qtx::bench {
namespace {

TEST(Spread, OfOddlyManyIsTheMiddleOneAndTheQuarters) {
  const Spread spread = SpreadOf({9, 1, 5, 3, 7});  // sorted 1 3 5 7 9: places 1, 2 and 3
  EXPECT_EQ(spread.low, 3);
  EXPECT_EQ(spread.median, 5);
  EXPECT_EQ(spread.high, 7);
}

// Four values: the quartiles fall at places 0.75, 1.5 and 2.25 of 1 2 4 8.
TEST(Spread, LiesBetweenTwoValuesWhereItMust) {
  const Spread spread = SpreadOf({8, 4, 2, 1});
  EXPECT_DOUBLE_EQ(spread.low, 1.75);
  EXPECT_DOUBLE_EQ(spread.median, 3);
  EXPECT_DOUBLE_EQ(spread.high, 5);
}

TEST(Spread, OfOneIsThatOne) {
  const Spread spread = SpreadOf({2.5});
  EXPECT_EQ(spread.low, 2.5);
  EXPECT_EQ(spread.high, 2.5);
}

// The machine is ten times slower in the second round, for both: the ratio of the medians would
// depend on the round, the median of the ratios does not.
TEST(SpeedRatio, ComparesRoundByRound) {
  const Spread ratio = SpeedRatio(std::vector<double>{1, 10, 1}, std::vector<double>{2, 20, 4});
  EXPECT_EQ(ratio.median, 2);
  EXPECT_EQ(ratio.low, 2);
  EXPECT_EQ(ratio.high, 3);  // half way from 2 to 4
}

TEST(SpeedRatio, IsAboveOneForTheFaster) {
  EXPECT_EQ(SpeedRatio(std::vector<double>{1}, std::vector<double>{4}).median, 4);
  EXPECT_EQ(SpeedRatio(std::vector<double>{4}, std::vector<double>{1}).median, 0.25);
}

}  // namespace
}  // namespace qtx::bench
