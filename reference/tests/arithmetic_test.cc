// Rounding, fixed point, the certified path against rationals, and published vectors.
#include "qtx/reference/arithmetic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <random>

#include "arithmetic/round.h"
#include "certified.h"
#include "rational.h"

namespace qtx::reference {
namespace {

using ::testing::HasSubstr;
using Rounds = RequantizeRecipe::Rounds;

constexpr std::array kTies = {TieRule::kHalfEven, TieRule::kHalfAway, TieRule::kHalfUp,
                              TieRule::kTowardZero};

// Expected: half even, half away, half up, toward zero.
struct TieCase {
  int numerator;  // of halves
  std::array<int, 4> expected;
};
constexpr std::array<TieCase, 8> kTieCases = {{
    {5, {2, 3, 3, 2}},
    {3, {2, 2, 2, 1}},
    {1, {0, 1, 1, 0}},
    {0, {0, 0, 0, 0}},
    {-1, {0, -1, 0, 0}},
    {-3, {-2, -2, -1, -1}},
    {-5, {-2, -3, -2, -2}},
    {4, {2, 2, 2, 2}},
}};

TEST(Round, FollowsEachTieRuleOnHalves) {
  for (const TieCase& c : kTieCases) {
    for (std::size_t rule = 0; rule < kTies.size(); ++rule) {
      SCOPED_TRACE(std::to_string(c.numerator) + "/2, rule " + std::to_string(rule));
      const Rational half(c.numerator, 2);
      EXPECT_EQ(Round(Rational(half.get_num(), half.get_den()), kTies[rule]).get_si(),
                c.expected[rule]);
      EXPECT_EQ(RoundQuotient(c.numerator, 2, kTies[rule]), c.expected[rule]);
      EXPECT_EQ(RoundShift(c.numerator, 1, kTies[rule]), c.expected[rule]);
      EXPECT_EQ(RoundFloat(static_cast<float>(c.numerator) / 2, kTies[rule]),
                static_cast<float>(c.expected[rule]));
    }
  }
}

// The two integers nearest to just under one half: 0.5 - 2^-25 is the binary32 below 0.5, and
// adding 0.5 to it in binary32 would give 1.
TEST(RoundFloat, SendsTheNumberBelowOneHalfToZero) {
  for (const TieRule tie : kTies) {
    EXPECT_EQ(RoundFloat(0.49999997F, tie), 0.0F);
    EXPECT_EQ(RoundFloat(-0.49999997F, tie), 0.0F);
  }
}

// 5 / 2 = 2.5 LSB. To even: 2, plus 3 = 5. Adding the offset first gives 5.5 -> 6.
TEST(QuantizedInteger, RoundsATieToEvenBeforeAddingTheOffset) {
  EXPECT_EQ(QuantizedInteger(Rational(5, 2), 3, {}, -128, 127), 5);
  QuantizeRecipe before;
  before.offset = QuantizeRecipe::Offset::kBeforeRounding;
  EXPECT_EQ(QuantizedInteger(Rational(5, 2), 3, before, -128, 127), 6);
}

TEST(QuantizedInteger, ClampsWhateverTheMagnitude) {
  Rational huge(1);
  mpq_mul_2exp(huge.get_mpq_t(), huge.get_mpq_t(), 300);
  EXPECT_EQ(QuantizedInteger(huge, 5, {}, -128, 127), 127);
  EXPECT_EQ(QuantizedInteger(-huge, 5, {}, -128, 127), -128);
}

// FBGEMM's published vector: s = 0.00214854861, x = 0.273939937. x / s = 127.49999 in binary32
// rounds to 127; x * (1 / s) is 127.50000 and rounds to 128.
TEST(QuantizedFloat, DivisionAndReciprocalDifferOnFbgemmsVector) {
  QuantizeRecipe recipe;
  recipe.value = QuantizeRecipe::Value::kFloat32;
  EXPECT_EQ(QuantizedFloat(0.273939937F, 0.00214854861F, 0, recipe, -1000, 1000), 127);
  recipe.step = QuantizeRecipe::Step::kReciprocal;
  EXPECT_EQ(QuantizedFloat(0.273939937F, 0.00214854861F, 0, recipe, -1000, 1000), 128);
}

TEST(QuantizedFloat, HandlesExtremeScales) {
  QuantizeRecipe recipe;
  recipe.value = QuantizeRecipe::Value::kFloat32;
  EXPECT_EQ(QuantizedFloat(1.0F, 0x1p-126F, 0, recipe, -128, 127), 127);
  EXPECT_EQ(QuantizedFloat(-0x1p127F, 0x1p-149F, 0, recipe, -128, 127), -128);
  EXPECT_EQ(QuantizedFloat(0x1p127F, 0x1p127F, 0, recipe, -128, 127), 1);
  EXPECT_EQ(QuantizedFloat(0x1.8p-148F, 0x1p-149F, 0, recipe, -128, 127), 3);
}

// tensorflow issue 25087: (7984, 1583594044, -9). The exact product is 11.4999..; the doubled high
// half rounds to 5888 = 11.5 * 512, and the shift rounds that away: 12 for 11.
TEST(MultiplyFixed, TwoRoundingsDifferFromOneOnTensorflow25087) {
  const FixedMultiplier factor{1583594044, -9};
  EXPECT_EQ(MultiplyFixed(7984, factor, Rounds::kTwice, TieRule::kHalfUp), 12);
  EXPECT_EQ(MultiplyFixed(7984, factor, Rounds::kOnce, TieRule::kHalfUp), 11);
}

// gemmlowp: a quarter becomes 1 by two roundings (1/2 up, then 1/2 away) and 0 by one.
TEST(MultiplyFixed, MakesAQuarterOneWhenRoundingTwice) {
  const FixedMultiplier quarter = ToFixed(0.25);
  EXPECT_EQ(quarter.mantissa, 1 << 30);
  EXPECT_EQ(quarter.shift, -1);
  EXPECT_EQ(MultiplyFixed(1, quarter, Rounds::kTwice, TieRule::kHalfUp), 1);
  EXPECT_EQ(MultiplyFixed(1, quarter, Rounds::kOnce, TieRule::kHalfUp), 0);
  EXPECT_EQ(MultiplyFixed(-1, quarter, Rounds::kTwice, TieRule::kHalfUp), 0);
  EXPECT_EQ(MultiplyFixed(-2, quarter, Rounds::kTwice, TieRule::kHalfUp), -1);
}

TEST(MultiplyFixed, ShiftsLeftForFactorsAboveOne) {
  const FixedMultiplier three = ToFixed(3.0);
  EXPECT_EQ(three.shift, 2);
  for (const Rounds rounds : {Rounds::kOnce, Rounds::kTwice}) {
    EXPECT_EQ(MultiplyFixed(7, three, rounds, TieRule::kHalfUp), 21);
    EXPECT_EQ(MultiplyFixed(-7, three, rounds, TieRule::kHalfUp), -21);
  }
}

TEST(ToFixed, CarriesAMantissaThatRoundsUpToOne) {
  const FixedMultiplier factor = ToFixed(1.0 - 0x1p-40);  // mantissa 2^31 - 2^-9 rounds to 2^31
  EXPECT_EQ(factor.mantissa, 1 << 30);
  EXPECT_EQ(factor.shift, 1);
  EXPECT_EQ(ToFixed(0x1p-40).mantissa, 0);
}

// Scales whose product overflows binary32: like any other factor that is too large.
TEST(ToFixed, SaturatesAtInfinity) {
  const FixedMultiplier factor = ToFixed(std::numeric_limits<double>::infinity());
  EXPECT_EQ(factor.mantissa, 0x7fffffff);
  EXPECT_EQ(factor.shift, 30);
}

// tensorflow issue 102943: 585 times the binary32 nearest to 1/90 is 6.50000016: exactly 7, but the
// binary32 product is the tie 6.5, which goes to 6.
TEST(Quotient, DecidesTensorflow102943ByTheExactProduct) {
  const float scale = 1.0F / 90.0F;
  const Term term{585, static_cast<double>(scale)};
  EXPECT_EQ(CertainlyRounded(Quotient({&term, 1}, 1, 1.0F), -128, 127), 7);
  EXPECT_EQ(RoundFloat(585.0F * scale, TieRule::kHalfEven), 6.0F);
}

TEST(CertainlyRounded, LeavesATieInDoubt) {
  const Term term{5, 1.0};
  EXPECT_EQ(CertainlyRounded(Quotient({&term, 1}, 1, 2.0F), -128, 127), std::nullopt);
  EXPECT_EQ(CertainlyRounded(Quotient({&term, 1}, 1, 2.0F), -128, 1), 1);  // beyond the range
}

float AnyScale(std::mt19937& engine) {
  std::uniform_int_distribution<std::uint32_t> bits(1,
                                                    0x7f7fffff);  // every positive finite binary32
  return std::bit_cast<float>(bits(engine));
}

// Over random binary32 scales, subnormals included, the certified answer is the exact one.
TEST(CertainlyRounded, AgreesWithRationalsOnRandomTerms) {
  std::mt19937 engine(1);
  std::uniform_int_distribution<std::int64_t> integer(-(std::int64_t{1} << 40),
                                                      std::int64_t{1} << 40);
  int certain = 0;
  for (int i = 0; i < 20000; ++i) {
    const float scale = AnyScale(engine);
    const double near = static_cast<double>(scale) * std::ldexp(1.0, -(i % 45));
    const std::array<Term, 2> terms = {
        Term{integer(engine), static_cast<double>(static_cast<float>(near)) * 0.37109375},
        Term{integer(engine), static_cast<double>(AnyScale(engine)) * static_cast<double>(scale)}};
    const std::size_t count = 1 + static_cast<std::size_t>(i % 2);
    const std::int64_t divisor = 1 + i % 49;
    const auto rounded =
        CertainlyRounded(Quotient({terms.data(), count}, divisor, scale), -32768, 32767);
    if (!rounded) continue;
    ++certain;
    const Rational exact = ExactQuotient({terms.data(), count}, divisor, scale);
    ASSERT_EQ(*rounded, QuantizedInteger(exact, 0, {}, -32768, 32767));
  }
  EXPECT_GT(certain, 15000);
}

// integer * scale within a few units in the last place of a tie of the output's scale.
TEST(CertainlyRounded, AgreesWithRationalsNextToTies) {
  std::mt19937 engine(2);
  std::uniform_int_distribution<int> stored(-128, 127);
  std::uniform_int_distribution<int> accumulator(1, 1 << 22);
  std::uniform_int_distribution<int> step(-3, 3);
  int doubtful = 0;
  for (int i = 0; i < 20000; ++i) {
    const float y = AnyScale(engine);
    if (y < 0x1p-60F || y > 0x1p60F) continue;
    const std::int64_t a = accumulator(engine);
    // The scale whose product with a is the tie, moved by 0 to 3 ulp of binary64.
    double scale = (stored(engine) + 0.5) * static_cast<double>(y) / static_cast<double>(a);
    for (int k = step(engine); k != 0; k += k < 0 ? 1 : -1) {
      scale = std::nextafter(scale, k < 0 ? -1e300 : 1e300);
    }
    const Term term{a, scale};
    const auto rounded = CertainlyRounded(Quotient({&term, 1}, 1, y), -128, 127);
    if (!rounded) {
      ++doubtful;
      continue;
    }
    ASSERT_EQ(*rounded, QuantizedInteger(ExactQuotient({&term, 1}, 1, y), 0, {}, -128, 127));
  }
  EXPECT_GT(doubtful, 1000);  // the cases are as close to ties as intended
}

TEST(ExactSum, CancelsAndKeepsTheLastBit) {
  ExactSum sum;
  sum.AddProduct(ToDyadic(0x1p120), ToDyadic(0x1p120));
  sum.AddProduct(ToDyadic(0x1p-149), ToDyadic(0x1p-149));
  sum.AddProduct(ToDyadic(-0x1p120), ToDyadic(0x1p120));
  EXPECT_EQ(sum.Value().value, ToRational({1, -298, Dyadic::Kind::kFinite}));
}

TEST(ExactSum, AgreesWithRationalsOnRandomProducts) {
  std::mt19937 engine(3);
  ExactSum sum;
  Rational expected = 0;
  for (int i = 0; i < 5000; ++i) {
    const float a = AnyScale(engine) * (i % 2 == 0 ? 1.0F : -1.0F);
    const float b = AnyScale(engine) * (i % 3 == 0 ? 1.0F : -1.0F);
    sum.AddProduct(ToDyadic(static_cast<double>(a)), ToDyadic(static_cast<double>(b)));
    expected += Rational(static_cast<double>(a)) * Rational(static_cast<double>(b));
  }
  EXPECT_EQ(sum.Value().value, expected);
}

TEST(ExactSum, FollowsIeeeForInfinitiesAndNan) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  ExactSum sum;
  sum.AddProduct(ToDyadic(kInfinity), ToDyadic(-2.0));
  EXPECT_EQ(sum.Value().special, -kInfinity);
  sum.Add(ToDyadic(kInfinity));
  EXPECT_TRUE(std::isnan(sum.Value().special));
  ExactSum zero_times_infinity;
  zero_times_infinity.AddProduct(ToDyadic(0.0), ToDyadic(kInfinity));
  EXPECT_TRUE(std::isnan(zero_times_infinity.Value().special));
}

TEST(NearestFloat, RoundsOnceWhereTwoRoundingsWouldNot) {
  // 1 + 2^-24 + 2^-60 is above the tie; through binary64 it becomes the tie and then 1.
  Rational value = ToRational({1, -24, Dyadic::Kind::kFinite}) + 1;
  EXPECT_EQ(NearestFloat(value), 1.0F);
  value += ToRational({1, -60, Dyadic::Kind::kFinite});
  EXPECT_EQ(NearestFloat(value), std::nextafter(1.0F, 2.0F));
}

TEST(NearestFloat, HandlesSubnormalsAndOverflow) {
  EXPECT_EQ(NearestFloat(ToRational({3, -150, Dyadic::Kind::kFinite})), 0x1p-148F);  // tie: to even
  EXPECT_EQ(NearestFloat(ToRational({1, -150, Dyadic::Kind::kFinite})), 0.0F);       // tie: to even
  EXPECT_EQ(NearestFloat(ToRational({-1, 128, Dyadic::Kind::kFinite})),
            -std::numeric_limits<float>::infinity());
}

TEST(Exp32, IsCorrectlyRoundedWhereLibmIsNotAsked) {
  EXPECT_EQ(Exp32(0.0F), 1.0F);
  EXPECT_EQ(Exp32(1.0F), 2.71828182845904523F);
  EXPECT_EQ(Exp32(0x1p-149F), 1.0F);
  EXPECT_EQ(Exp32(-200.0F), 0.0F);
  EXPECT_EQ(Exp32(100.0F), std::numeric_limits<float>::infinity());
  EXPECT_EQ(Exp32(-std::numeric_limits<float>::infinity()), 0.0F);
}

TEST(FindArithmetic, ListsTheNamesThereAre) {
  EXPECT_EQ((*FindArithmetic("tflite"))->name, "tflite");
  const auto missing = FindArithmetic("exakt");
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(missing.error().message, HasSubstr("exact, float32, float32-fma, onnxruntime"));
  EXPECT_THAT(missing.error().message, HasSubstr("cmsis-nn"));
}

}  // namespace
}  // namespace qtx::reference
