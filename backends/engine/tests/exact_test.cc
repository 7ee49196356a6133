#include "engine/exact.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

#include "engine/double_double.h"
#include "support.h"

namespace qtx::backend::engine {
namespace {

constexpr format::IntegerRange kInt8{-128, 127};

std::int64_t Round(std::span<const Term> terms, double unit, std::int64_t divisor = 1) {
  return RoundHalfEven({terms, unit, divisor}, kInt8);
}

TEST(SignOfSum, SeesWhatBinary64Cancels) {
  // 2^53 * 1 + 1 * 2^-100 - 2^53 * 1: a plain sum is zero.
  const std::array<Term, 3> terms{Term{0x1p53, 1}, Term{1, 0x1p-100}, Term{-0x1p53, 1}};
  EXPECT_EQ(SignOfSum(terms), 1);
  const std::array<Term, 2> zero{Term{3, 0x1.8p-140}, Term{-9, 0x1p-141}};
  EXPECT_EQ(SignOfSum(zero), 0);
}

// 5/2, -5/2, 3/2, 7/2 and their neighbours by one part in 2^60.
TEST(RoundHalfEven, SendsTiesToEvenAndNothingElse) {
  const double unit = 2;
  const double tiny = 0x1p-60;
  for (const std::int64_t odd : {-7, -5, -3, -1, 1, 3, 5, 7}) {
    const auto integer = static_cast<double>(odd);
    const std::int64_t below = (odd - 1) / 2 - (odd < 0 && (odd - 1) % 2 != 0 ? 1 : 0);
    const std::int64_t even = below % 2 == 0 ? below : below + 1;
    EXPECT_EQ(Round(std::array{Term{integer, 1}}, unit), even) << odd;
    EXPECT_EQ(Round(std::array{Term{integer, 1}, Term{1, tiny}}, unit), below + 1) << odd;
    EXPECT_EQ(Round(std::array{Term{integer, 1}, Term{-1, tiny}}, unit), below) << odd;
  }
}

TEST(RoundHalfEven, HoldsAtBothEndsOfBinary32) {
  const double smallest = 0x1p-149;
  const double largest = 0x1.fffffep127;
  // 3 * smallest^2 / smallest is nearly nothing; 3 * largest^2 / smallest is beyond any clamp.
  EXPECT_EQ(Round(std::array{Term{3, smallest * smallest}}, smallest), 0);
  EXPECT_EQ(Round(std::array{Term{3, largest * largest}}, smallest), 127);
  EXPECT_EQ(Round(std::array{Term{-3, largest * largest}}, smallest), -128);
  // Huge terms that cancel to a tie: 5/2 of a unit.
  EXPECT_EQ(Round(std::array{Term{0x1p40, largest * largest}, Term{-0x1p40, largest * largest},
                             Term{5, smallest}},
                  2 * smallest),
            2);
}

// Every sum/count quotient of a small mean against integer arithmetic.
TEST(RoundHalfEven, DividesByCountsExactly) {
  const float scale = 0x1.99999ap-4F;
  for (std::int64_t sum = -300; sum <= 300; ++sum) {
    for (std::int64_t count = 1; count <= 12; ++count) {
      const auto expected = RoundSlowly(Exactly(sum) * Exactly(scale), scale, 0, kInt8, count);
      EXPECT_EQ(Round(std::array{Term{static_cast<double>(sum), scale}}, scale, count), expected)
          << sum << " / " << count;
    }
  }
}

TEST(RoundToFloat, RoundsOnceToEven) {
  // 2^24 + 1 lies between two binary32: to the even one, unless anything at all is added.
  EXPECT_EQ(RoundToFloat(std::array{Term{0x1p24, 1}, Term{1, 1}}), 0x1p24F);
  EXPECT_EQ(RoundToFloat(std::array{Term{0x1p24, 1}, Term{1, 1}, Term{1, 0x1p-90}}),
            0x1.000002p24F);
  EXPECT_EQ(RoundToFloat(std::array{Term{0x1p24, 1}, Term{3, 1}}), 0x1.000004p24F);
  EXPECT_EQ(RoundToFloat(std::array{Term{3, 0x1p-150}}), 0x1p-148F);  // 1.5 smallest: to even
  EXPECT_EQ(RoundToFloat(std::array{Term{1, 0x1p-150}}), 0.0F);
  EXPECT_TRUE(std::isinf(RoundToFloat(std::array{Term{3, 0x1p127}})));
}

// 2^300 comes and goes; of what is left, 1000 / 16 = 62.5, a tie, and to even.
TEST(RoundHalfEven, TakesAnyNumberOfTerms) {
  std::vector<Term> terms{{1, 0x1p300}};
  for (int i = 0; i < 1000; ++i) terms.push_back({1, 1});
  terms.push_back({-1, 0x1p300});
  EXPECT_EQ(Round(terms, 16), 62);
  terms.push_back({1, 0x1p-300});
  EXPECT_EQ(Round(terms, 16), 63);
}

// The estimate in binary64 is 0, some 2^30 neighbours away from the sum.
TEST(RoundToFloat, SurvivesCancellation) {
  EXPECT_EQ(RoundToFloat(std::array{Term{1, 0x1p100}, Term{3, 1}, Term{-1, 0x1p100}}), 3.0F);
  // 1/3 = 0x1.555555..p-2: up, in binary32; (2^24 + 1) / 2 is a tie, to the even 2^23.
  EXPECT_EQ(RoundToFloat(std::array{Term{1, 1}}, 3), 0x1.555556p-2F);
  EXPECT_EQ(RoundToFloat(std::array{Term{0x1.000001p24, 1}}, 2), 0x1p23F);
}

// E4M3FN has 3 bits after the point: 16 is 0x58, 18 is 0x59, 20 is 0x5A, 448 (0x7E) the largest.
TEST(RoundToSmallFloat, RoundsOnceToTheEvenCode) {
  constexpr auto kType = format::ElementType::kFloat8E4M3FN;
  const auto code = [](std::span<const Term> terms, double unit, std::int64_t divisor = 1) {
    return RoundToSmallFloat({terms, unit, divisor}, kType);
  };
  EXPECT_EQ(code(std::array{Term{17, 1}}, 1), 0x58U);
  EXPECT_EQ(code(std::array{Term{19, 1}}, 1), 0x5AU);
  EXPECT_EQ(code(std::array{Term{17, 1}, Term{1, 0x1p-100}}, 1), 0x59U);
  EXPECT_EQ(code(std::array{Term{19, 1}, Term{-1, 0x1p-100}}, 1), 0x59U);
  EXPECT_EQ(code(std::array{Term{-51, 0.1F}}, 0.1F, 3), 0xD8U);  // -51 / 3 = -17: to -16
  EXPECT_EQ(code(std::array{Term{1000, 1}}, 1), 0x7EU);
  EXPECT_EQ(code(std::array{Term{0, 1}}, 1), 0U);
  // Half the smallest subnormal 2^-9 is a tie with zero; of -0 FNUZ has none.
  EXPECT_EQ(code(std::array{Term{-1, 0x1p-10}}, 1), 0x80U);
  EXPECT_EQ(code(std::array{Term{1, 0x1p-10}, Term{1, 0x1p-90}}, 1), 1U);
  EXPECT_EQ(RoundToSmallFloat({std::array{Term{-1, 0x1p-20}}, 1, 1},
                              format::ElementType::kFloat8E4M3FNUZ),
            0U);
}

// (2^31 - 1)^2 * 0x1.8p0 = 1.5 * (2^62 - 2^32 + 1), which no double holds.
TEST(AppendProduct, KeepsEveryBit) {
  std::vector<Term> terms;
  AppendProduct({0x1.fffffffcp30, 1}, {0x1.fffffffcp30, 1}, 1.5F, terms);
  for (const Term& term : {Term{-0x1.8p62, 1}, Term{0x1.8p32, 1}, Term{-1.5, 1}}) {
    terms.push_back(term);
  }
  EXPECT_EQ(SignOfSum(terms), 0);
  terms.push_back({-1, 0x1p-80});
  EXPECT_EQ(SignOfSum(terms), -1);
}

TEST(AppendProduct, MergesIntegersOfOneScaleAndKeepsSpecialValues) {
  std::vector<Term> terms;
  for (int i = 1; i <= 4; ++i) AppendProduct({127, 0.1F}, {-128, 0.3F}, 1, terms);
  ASSERT_EQ(terms.size(), 1U);
  EXPECT_EQ(terms[0].integer, -4.0 * 127 * 128);
  AppendProduct({1, INFINITY}, {1, 0}, 1, terms);  // inf * 0
  EXPECT_TRUE(std::isnan(ValueOf(terms.back()).high));
}

// (2^32 + 1) (1 + 2^-23) = 2^32 + 513 + 2^-23; binary64 has no room for the last, 55 bits down.
// 0 * inf is NaN, whatever infinity is added to it.
TEST(AppendProduct, DoesNotMergeInfiniteScales) {
  std::vector<Term> terms;
  AppendProduct({1, -INFINITY}, {0, 1}, 1, terms);
  AppendProduct({1, -INFINITY}, {-1, 1}, 1, terms);
  double sum = 0;
  for (const Term& term : terms) sum += term.integer * term.scale;
  EXPECT_TRUE(std::isnan(sum));
}

TEST(Less, ComparesPastBinary64) {
  const Term smaller{0x1p32 + 513, 1};
  const Term larger{0x1p32 + 1, 0x1.000002p0};
  EXPECT_TRUE(Less(smaller, larger));
  EXPECT_FALSE(Less(larger, smaller));
  EXPECT_TRUE(Less({1, -INFINITY}, smaller));
  EXPECT_FALSE(Less({1, NAN}, smaller));
  EXPECT_FALSE(Less(smaller, {1, NAN}));
}

TEST(DoubleDouble, ExpMatchesKnownDigits) {
  // exp(-1) = 0x0.5E2D58D8B3BCDF1ABADEC7829054F90DDA9805AAB56C773330 (Knuth, TAOCP 1, appendix A).
  const DoubleDouble e = ExpOfNegative(1);
  EXPECT_EQ(e.high, 0x1.78b56362cef38p-2);
  EXPECT_NEAR(e.low, -0x1.ca8a4270fadf5p-57, 0x1p-100);
}

// exp(-a) * exp(-b) = exp(-(a + b)) for sums that binary64 holds exactly.
TEST(DoubleDouble, ExpKeepsItsFunctionalEquation) {
  for (double a = 0.125; a < 250; a *= 1.5) {
    const double b = std::nearbyint(a * 1024) / 1024;
    const DoubleDouble product = ExpOfNegative(b) * ExpOfNegative(2 * b);
    const DoubleDouble difference = product - ExpOfNegative(3 * b);
    EXPECT_LE(std::fabs(difference.high), std::ldexp(product.high, -94)) << b;
  }
}

}  // namespace
}  // namespace qtx::backend::engine
