#include "engine/exact.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

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
