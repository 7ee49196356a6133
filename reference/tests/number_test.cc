// Numbers of every width: rounding to binary64, sums beyond binary32, intervals.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include "interval.h"
#include "rational.h"
#include "textbook_float.h"

namespace qtx::reference {
namespace {

TEST(NearestDouble, AgreesWithMpfrFromSubnormalToOverflow) {
  std::mt19937_64 engine(5);
  for (int i = 0; i < 20000; ++i) {
    const auto mantissa = static_cast<long>(engine() >> (1 + engine() % 50));
    const int exponent = static_cast<int>(engine() % 2200) - 1140;
    Rational value(mantissa, engine() % 3 == 0 ? 3UL : 1UL);
    value.canonicalize();
    value *= ToRational({engine() % 2 == 0 ? 1 : -1, exponent, Dyadic::Kind::kFinite});
    ASSERT_EQ(NearestDouble(value), testing::TextbookDouble(value)) << value;
  }
}

// Halfway between the subnormals 2^-1074 and 2^-1073 lies 3 * 2^-1075: to even is 2 * 2^-1074.
TEST(NearestDouble, SendsASubnormalTieToEven) {
  EXPECT_EQ(NearestDouble(ToRational({3, -1075, Dyadic::Kind::kFinite})), 0x1p-1073);
  EXPECT_EQ(NearestDouble(ToRational({1, -1075, Dyadic::Kind::kFinite})), 0);
  EXPECT_EQ(NearestDouble(ToRational({5, -1075, Dyadic::Kind::kFinite})), 0x1p-1073);
}

TEST(ExactSum, HoldsProductsOfDoubles) {
  ExactSum sum;
  const Dyadic tiny = ToDyadic(0x1.8p-1070);
  const Dyadic huge = ToDyadic(0x1.4p1000);
  sum.AddProduct(tiny, tiny);
  sum.AddProduct(huge, huge);
  sum.Add(ToDyadic(-3.0));
  Dyadic opposite = huge;
  opposite.mantissa = -opposite.mantissa;
  sum.AddProduct(opposite, huge);
  EXPECT_EQ(sum.Value().value, ToRational({9, -2142, Dyadic::Kind::kFinite}) - 3);
}

// The ends of 128 bits, and what fills the lower half only.
TEST(ToRational, HoldsEveryIntegerOf128Bits) {
  const __int128 one = 1;
  const Rational half = ToRational({1, 126, Dyadic::Kind::kFinite});
  EXPECT_EQ(ToRational(-(one << 126) - (one << 126)), -half - half);
  EXPECT_EQ(ToRational((one << 126) - 1 + (one << 126)), half - 1 + half);
  EXPECT_EQ(ToRational(-one), -1);
  EXPECT_EQ(ToRational(-(one << 95)), -ToRational({1, 95, Dyadic::Kind::kFinite}));
  EXPECT_EQ(ToRational((one << 64) - 1), ToRational({1, 64, Dyadic::Kind::kFinite}) - 1);
}

// An interval of few bits holds the value that many bits give.
TEST(Interval, HoldsWhatMoreBitsGive) {
  const auto value = [](int bits) {
    const Interval x(Rational(6, 5), bits);
    const Interval third(Rational(1, 3), bits);
    return Exp(Log(x) * third) - Tanh(Sqrt(x)) + Erf(Expm1(third)) / Log1p(x);
  };
  const Interval coarse = value(24);
  const Interval fine = value(400);
  EXPECT_LT(coarse.low(), fine.low());
  EXPECT_GT(coarse.high(), fine.high());
  EXPECT_LT(coarse.high() - coarse.low(), Rational(1, 1000000));
}

TEST(Interval, KeepsExtremeEndsBounded) {
  const Interval huge = Exp(Interval(Rational(1) << 40, 64));
  EXPECT_EQ(huge.low(), ToRational({1, 2000, Dyadic::Kind::kFinite}));
  const Interval tiny = Exp(Interval(-(Rational(1) << 40), 64));
  EXPECT_EQ(tiny.low(), 0);
  EXPECT_EQ(tiny.high(), ToRational({1, -2000, Dyadic::Kind::kFinite}));
}

// sqrt(2)^2 is 2, a tie of nothing; sqrt(2) * sqrt(2) / 2 + 1/2 = 3/2 is one that no precision can
// decide: to even is 2.
TEST(Decided, TakesAnUndecidedRealToBeTheTie) {
  const auto enclose = [](int bits) {
    const Interval root = Sqrt(Interval(2, bits));
    return root * root / Interval(2, bits) + Interval(Rational(1, 2), bits);
  };
  const auto same = [](const Rational& low, const Rational& high) {
    return Round(low, TieRule::kHalfEven) == Round(high, TieRule::kHalfEven);
  };
  EXPECT_EQ(Decided(enclose, 1, same), Rational(3, 2));
}

}  // namespace
}  // namespace qtx::reference
