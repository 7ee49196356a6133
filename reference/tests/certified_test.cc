// The certified fast paths: every stated error bound against GMP or MPFR, and that a decision is
// taken only where the whole interval rounds alike. Nothing here calls the exact path it judges.
#include "certified.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "textbook_float.h"

namespace qtx::reference::testing {
namespace {

constexpr std::int64_t kInt64Max = std::numeric_limits<std::int64_t>::max();

class Numbers {
 public:
  explicit Numbers(std::uint32_t seed) : engine_(seed) {}
  std::int64_t In(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(engine_);
  }
  /// Every positive finite binary32 is as likely as any other: half of them are below 2^-63.
  float Scale() { return std::bit_cast<float>(static_cast<std::uint32_t>(In(1, 0x7f7fffff))); }
  float ExtremeScale() {
    constexpr std::array kScales = {0x1p-149F, 0x1.fffffcp-127F, 0x1p-126F,      0x1.fffffep-64F,
                                    1.0F,      0x1.99999ap-4F,   0x1.fffffep63F, 0x1.fffffep127F};
    return kScales[static_cast<std::size_t>(In(0, kScales.size() - 1))];
  }
  /// Of any magnitude up to 2^62.
  std::int64_t Integer() { return In(-kInt64Max, kInt64Max) >> In(1, 62); }
  Term AnyTerm() {
    const bool extreme = In(0, 1) == 0;
    const double a = static_cast<double>(extreme ? ExtremeScale() : Scale());
    const double b = static_cast<double>(extreme ? ExtremeScale() : Scale());
    return {Integer(), In(0, 1) == 0 ? a : a * b};  // 48 bits: the product is exact
  }
  /// `value` moved by up to `ulps` binary64 neighbours.
  double Near(double value, int ulps) {
    const std::int64_t steps = In(-ulps, ulps);
    for (std::int64_t k = steps; k != 0; k += k < 0 ? 1 : -1) {
      value = std::nextafter(value, k < 0 ? -HUGE_VAL : HUGE_VAL);
    }
    return value;
  }
  double Power(int low, int high) { return std::ldexp(1.0, static_cast<int>(In(low, high))); }

 private:
  std::mt19937_64 engine_;
};

mpq_class Sum(std::span<const Term> terms, bool magnitudes) {
  mpq_class sum = 0;
  for (const Term& term : terms) {
    const mpq_class product = mpq_class(static_cast<long>(term.integer)) * mpq_class(term.scale);
    sum += magnitudes ? mpq_class(abs(product)) : product;
  }
  return sum;
}

// The quotient lies within the bound, and the bound is no more than it claims: 10u and its
// rounding.
void CheckQuotient(std::span<const Term> terms, std::int64_t divisor, float scale) {
  const mpq_class denominator =
      mpq_class(static_cast<long>(divisor)) * mpq_class(static_cast<double>(scale));
  const mpq_class exact = Sum(terms, false) / denominator;
  const Approximation x = Quotient(terms, divisor, scale);
  ASSERT_TRUE(std::isfinite(x.value) && std::isfinite(x.bound));
  ASSERT_LE(abs(exact - mpq_class(x.value)), mpq_class(x.bound));
  ASSERT_LE(mpq_class(x.bound), Sum(terms, true) / denominator * mpq_class(0x1.401p-50));
  ASSERT_EQ(ExactQuotient(terms, divisor, scale), exact);
}

TEST(Quotient, LiesWithinItsBoundAtEveryScale) {
  Numbers numbers(1);
  for (int i = 0; i < 20000; ++i) {
    std::array<Term, 4> terms;
    for (Term& term : terms) term = numbers.AnyTerm();
    const auto count = static_cast<std::size_t>(numbers.In(1, 4));
    const std::int64_t divisor = numbers.In(0, 1) == 0 ? 1 : numbers.In(1, (1 << 29) - 1);
    const float scale = numbers.In(0, 1) == 0 ? numbers.Scale() : numbers.ExtremeScale();
    CheckQuotient({terms.data(), count}, divisor, scale);
  }
}

// The ends of what Quotient permits: nothing over- or underflows there.
TEST(Quotient, LiesWithinItsBoundAtTheEndsOfItsRange) {
  constexpr double kLeast = 0x1p-298;
  constexpr double kMost = 0x1.fffffep127 * 0x1.fffffep127;
  const std::array<Term, 4> large = {Term{kInt64Max, kMost}, Term{kInt64Max, kMost},
                                     Term{kInt64Max, kMost}, Term{kInt64Max, kMost}};
  CheckQuotient(large, 1, 0x1p-149F);
  const std::array<Term, 2> mixed = {Term{-kInt64Max, kMost}, Term{1, kLeast}};
  CheckQuotient(mixed, (1 << 29) - 1, 0x1.fffffep127F);
  const Term small{1, kLeast};
  CheckQuotient({&small, 1}, (1 << 29) - 1, 0x1.fffffep127F);
}

// Sums of which next to nothing is left: the bound must be that of the magnitudes.
TEST(Quotient, LiesWithinItsBoundUnderCancellation) {
  Numbers numbers(2);
  for (int i = 0; i < 20000; ++i) {
    const Term first = numbers.AnyTerm();
    std::array<Term, 3> terms = {first, Term{-first.integer, first.scale}, numbers.AnyTerm()};
    // The first terms cancel but for the lowest bits; the third is of the size of what is left.
    terms[1].integer += numbers.In(-3, 3);
    terms[2] = {numbers.In(-1000, 1000), first.scale};
    CheckQuotient(terms, numbers.In(1, 100), numbers.Scale());
    terms[2] = {numbers.In(-5, 5), static_cast<double>(numbers.Scale())};
    CheckQuotient(terms, 1, numbers.Scale());
  }
}

// A decision holds at both ends of the interval; doubt means that a tie lies in it.
void CheckRounded(const Approximation& x, std::int64_t min, std::int64_t max) {
  const mpq_class low = mpq_class(x.value) - mpq_class(x.bound);
  const mpq_class high = mpq_class(x.value) + mpq_class(x.bound);
  if (const auto rounded = CertainlyRounded(x, min, max)) {
    ASSERT_EQ(*rounded, TextbookQuantize(low, 1, 0, min, max)) << x.value << " +- " << x.bound;
    ASSERT_EQ(*rounded, TextbookQuantize(high, 1, 0, min, max)) << x.value << " +- " << x.bound;
    return;
  }
  const mpq_class slack = mpq_class(x.bound) * mpq_class(0x1p-40);
  const mpz_class below = mpz_class(low - slack + mpq_class(1, 2));  // toward zero; widened by 1
  bool tie = false;
  for (int k = -2; k <= 2; ++k) {
    const mpq_class candidate = mpq_class(below) + k + mpq_class(1, 2);
    tie = tie || (candidate >= low - slack && candidate <= high + slack);
  }
  ASSERT_TRUE(tie || x.bound >= 0.5) << x.value << " +- " << x.bound;
}

TEST(CertainlyRounded, DecidesOnlyWhatTheWholeIntervalAgreesOn) {
  Numbers numbers(3);
  for (int i = 0; i < 100000; ++i) {
    const int bits = static_cast<int>(numbers.In(1, 40));
    const std::int64_t limit = (std::int64_t{1} << bits) - 1;
    const auto whole = static_cast<double>(numbers.In(-2 * limit, 2 * limit));
    const double value = numbers.Near(whole + (i % 3 == 0 ? 0.0 : 0.5), 3);
    const double bound = numbers.Near(std::abs(value) * numbers.Power(-54, -48), 2);
    CheckRounded({value, std::abs(bound)}, -limit - 1, limit);
    CheckRounded({value, numbers.Power(-1074, 3)}, -limit - 1, limit);
  }
}

TEST(CertainlyRounded, KeepsItsWordAtTheEndsOfTheRange) {
  Numbers numbers(4);
  constexpr std::int64_t kMax = (std::int64_t{1} << 40) - 1;
  for (const std::int64_t max : {std::int64_t{1}, std::int64_t{127}, kMax}) {
    for (int i = 0; i < 5000; ++i) {
      const double end = static_cast<double>(max) + static_cast<double>(numbers.In(-4, 4)) / 2;
      const double value = numbers.Near(numbers.In(0, 1) == 0 ? end : -end, 2);
      CheckRounded({value, numbers.Power(-60, 2)}, -max, max);
    }
    for (const double huge : {0x1p51, 0x1.8p52, 0x1p53, 0x1p62, 0x1p64, 0x1p470}) {
      for (const double bound : {0.0, 0.25, 1.0, huge / 4, huge, 4 * huge}) {
        CheckRounded({huge, bound}, -max, max);
        CheckRounded({-huge, bound}, -max, max);
      }
    }
  }
}

void CheckFloat(const Approximation& x) {
  const auto certain = CertainlyFloat(x);
  if (!certain) return;
  for (const int side : {-1, 1}) {
    const float end = TextbookFloat(mpq_class(x.value) + side * mpq_class(x.bound));
    // Bits, not values: +0 and -0 differ.
    ASSERT_EQ(std::bit_cast<std::uint32_t>(*certain), std::bit_cast<std::uint32_t>(end))
        << x.value << " +- " << x.bound;
  }
}

// Middles of neighbouring binary32 numbers, subnormal ones too, moved by a few ulp of binary64.
TEST(CertainlyFloat, DecidesOnlyWhatTheWholeIntervalAgreesOn) {
  Numbers numbers(5);
  int doubtful = 0;
  for (int i = 0; i < 100000; ++i) {
    const float below =
        i % 4 == 0 ? 0x1p-149F * static_cast<float>(numbers.In(0, 5)) : numbers.Scale();
    const float above = std::nextafter(below, HUGE_VALF);
    if (!std::isfinite(above)) continue;
    const double middle = (static_cast<double>(below) + static_cast<double>(above)) / 2;
    const double value = numbers.Near(i % 2 == 0 ? middle : -middle, 3);
    const Approximation x{value, std::abs(value) * numbers.Power(-56, -49)};
    CheckFloat(x);
    doubtful += CertainlyFloat(x) ? 0 : 1;
    CheckFloat({value, 0});
    CheckFloat({value, numbers.Power(-1074, 130)});
    CheckFloat({value, std::abs(value) * numbers.Power(-2, 1)});
  }
  EXPECT_GT(doubtful, 20000);  // as close to ties as intended
}

// 2^128 - 2^103 is the tie between the largest binary32 and infinity.
TEST(CertainlyFloat, KeepsItsWordAtOverflowAndZero) {
  Numbers numbers(6);
  constexpr double kOverflow = 0x1p128 - 0x1p103;
  for (int i = 0; i < 5000; ++i) {
    const double sign = i % 2 == 0 ? 1 : -1;
    CheckFloat({sign * numbers.Near(kOverflow, 3), numbers.Power(60, 110)});
    CheckFloat({sign * numbers.Power(-1000, -140), numbers.Power(-1000, -140)});
    CheckFloat({0, numbers.Power(-1000, 0)});
  }
  EXPECT_EQ(CertainlyFloat({0, 0x1p-1000}), std::nullopt);  // -0 and +0 are both possible
  EXPECT_EQ(CertainlyFloat({0x1p-160, 0x1p-200}), 0.0F);
  EXPECT_EQ(CertainlyFloat({0x1p200, 0x1p150}), HUGE_VALF);
}

TEST(NearestFloat, AgreesWithMpfrNextToTies) {
  Numbers numbers(7);
  for (int i = 0; i < 50000; ++i) {
    const float below =
        i % 4 == 0 ? 0x1p-149F * static_cast<float>(numbers.In(0, 5)) : numbers.Scale();
    mpq_class value = (mpq_class(static_cast<double>(below)) +
                       mpq_class(static_cast<double>(std::nextafter(below, 0x1p127F)))) /
                      2;
    mpq_class offset = value;  // a tie, and 2^-20 to 2^-200 of itself beside one
    mpq_div_2exp(offset.get_mpq_t(), offset.get_mpq_t(),
                 static_cast<mp_bitcnt_t>(numbers.In(20, 200)));
    value += static_cast<int>(numbers.In(-1, 1)) * offset;
    if (i % 2 == 0) value = -value;
    ASSERT_EQ(std::bit_cast<std::uint32_t>(NearestFloat(value)),
              std::bit_cast<std::uint32_t>(TextbookFloat(value)));
  }
}

// What the bound of Shares and Exp32 take from libm: less than 1 ulp, hence 2u.
TEST(Exp, OfLibmIsWithinTwoRoundingUnits) {
  Numbers numbers(8);
  for (int i = 0; i < 50000; ++i) {
    double x = -static_cast<double>(numbers.Scale());
    if (i % 4 != 0) x = -std::ldexp(static_cast<double>(numbers.In(0, 1 << 30)), -21);
    if (i % 4 == 1) x /= -8;
    const double value = std::exp(x);
    if (value < 0x1p-1000) continue;
    const mpq_class exact = Exponential(mpq_class(x), 200);
    ASSERT_LE(abs(exact - mpq_class(value)), exact * mpq_class(0x1p-52)) << x;
  }
}

TEST(Exp32, IsCorrectlyRounded) {
  Numbers numbers(9);
  for (int i = 0; i < 50000; ++i) {
    // The whole range, subnormal results (-104 to -87), and overflow (88.72); next to 0 the result
    // comes close to the ties beside 1.
    const std::array<double, 4> ranges = {104, 89, 0x1p-20, 0x1p-23};
    const double range = ranges[static_cast<std::size_t>(i % 4)];
    const auto x =
        static_cast<float>(range * static_cast<double>(numbers.In(-1 << 30, 1 << 30)) * 0x1p-30);
    ASSERT_EQ(Exp32(x), TextbookFloat(Exponential(mpq_class(static_cast<double>(x)), 300))) << x;
  }
}

// The arguments whose exponentials come closest to ties of binary32 (2^-51 to 2^-53 of themselves),
// found by trying all from 2^-30 on, and those next to 1 +- 2^-24 and 1 - 2^-25.
TEST(Exp32, DecidesTheHardestArguments) {
  for (const float x : {-0x1.d2259ap+3F, -0x1.e1dbe2p-8F, -0x1.c1c4b8p-10F, 0x1p-24F, -0x1p-25F,
                        0x1.fffffep-25F, -0x1.000002p-25F, 0x1p-149F, -0x1p-149F}) {
    EXPECT_EQ(Exp32(x), TextbookFloat(Exponential(mpq_class(static_cast<double>(x)), 300))) << x;
  }
}

// A row as Softmax sees it. Its largest element is at index 0.
void CheckShares(const std::vector<float>& row) {
  std::vector<Dyadic> values;
  for (const float x : row) values.push_back(ToDyadic(static_cast<double>(x)));
  const Shares shares(values, values[0]);
  for (std::size_t i = 0; i < row.size(); i += 1 + row.size() / 8) {
    const auto share = shares.At(i);
    ASSERT_TRUE(share.has_value());
    const mpq_class error = TextbookShare(row, i) - mpq_class(share->value);
    ASSERT_LE(abs(error), mpq_class(share->bound)) << row.size() << " elements, " << row[0];
  }
}

TEST(Shares, LieWithinTheirBound) {
  Numbers numbers(10);
  for (int i = 0; i < 400; ++i) {
    // Around 2^k the neighbours are 2^(k-23) apart: small differences of large numbers.
    const int exponent = static_cast<int>(numbers.In(-149, 29));
    const float top = std::ldexp(1.0F, exponent) * (numbers.In(0, 1) == 0 ? 1.0F : -1.0F);
    std::vector<float> row = {top};
    const std::int64_t count = numbers.In(1, 60);
    for (std::int64_t k = 0; k < count; ++k) {
      const float step = std::ldexp(static_cast<float>(numbers.In(0, 100)), exponent - 22);
      row.push_back(numbers.In(0, 3) == 0 ? top - static_cast<float>(20 * numbers.Power(-3, 5))
                                          : top - step);
    }
    CheckShares(row);
  }
}

TEST(Shares, LieWithinTheirBoundInLongRowsAndWhereExponentialsVanish) {
  std::vector<float> row = {0.7F};
  for (int k = 1; k < 5000; ++k) row.push_back(0.7F - static_cast<float>(k % 97) * 0.0123F);
  CheckShares(row);
  CheckShares({3.0F, 3.0F - 690.0F, 3.0F - 700.0F, 3.0F - 720.0F, 3.0F - 744.0F});
  CheckShares({3.0F, -1000.0F, -0x1p20F});
}

TEST(Shares, DecideNothingPastTheirReach) {
  const std::array<Dyadic, 2> row = {ToDyadic(0x1.000002p30), ToDyadic(0x1p30)};
  EXPECT_EQ(Shares(row, row[0]).At(0), std::nullopt);
}

}  // namespace
}  // namespace qtx::reference::testing
