// The wide accumulator against GMP's rationals, over random bit patterns.
#include "wide_sum.h"

#include <gmp.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include "exact_sum.h"
#include "float_sums.h"

namespace qtx::calibrate::wide_sum_test {
namespace {

// Sum and sum of squares by rational arithmetic alone: mpq_set_d is exact.
struct Rationals {
  Rationals() {
    mpq_init(sum);
    mpq_init(squares);
    mpq_init(term);
  }
  ~Rationals() {
    mpq_clear(sum);
    mpq_clear(squares);
    mpq_clear(term);
  }
  Rationals(const Rationals&) = delete;
  Rationals& operator=(const Rationals&) = delete;
  void Add(float value) {
    if (!std::isfinite(value)) return;
    mpq_set_d(term, double{value});
    mpq_add(sum, sum, term);
    mpq_mul(term, term, term);
    mpq_add(squares, squares, term);
  }
  mpq_t sum, squares, term;
};

bool Equal(const format::ExactSum& sum, const mpq_t expected) {
  mpq_t value;
  mpq_init(value);
  mpz_set(mpq_numref(value), ToInteger(sum).get());
  if (sum.exponent >= 0) {
    mpq_mul_2exp(value, value, static_cast<mp_bitcnt_t>(sum.exponent));
  } else {
    mpq_div_2exp(value, value, static_cast<mp_bitcnt_t>(-sum.exponent));
  }
  const bool equal = mpq_equal(value, expected) != 0;
  mpq_clear(value);
  return equal;
}

std::vector<float> RandomBits(std::size_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> values(count);
  for (float& value : values) value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
  return values;
}

void ExpectExact(const std::vector<float>& values) {
  Rationals expected;
  for (const float value : values) expected.Add(value);
  FloatSums few, many;
  AddFew(values, few);
  ExponentBins().Add(values, FindExtremes(values), many);
  for (const FloatSums* sums : {&few, &many}) {
    EXPECT_TRUE(Equal(sums->sum.ToExact(), expected.sum));
    EXPECT_TRUE(Equal(sums->sum_of_squares.ToExact(), expected.squares));
  }
}

// Every exponent, both signs, subnormals, NaN and infinities (which count for nothing).
TEST(FloatSums, AgreesWithRationalsOnRandomBitPatterns) {
  for (std::uint32_t seed = 0; seed < 20; ++seed) ExpectExact(RandomBits(5000 + seed, seed));
}

TEST(FloatSums, AgreesOnSubnormalsAlone) {
  std::vector<float> values = RandomBits(3000, 7);
  for (float& value : values) {
    value = std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) & 0x807FFFFFU);
  }
  ExpectExact(values);
}

// The largest values cancel and leave the smallest one: 2^-149.
TEST(FloatSums, KeepsWhatIsLeftAfterCancellation) {
  std::vector<float> values(1000, std::numeric_limits<float>::max());
  values.push_back(std::numeric_limits<float>::denorm_min());
  values.resize(2001, -std::numeric_limits<float>::max());
  ExpectExact(values);
  FloatSums sums;
  ExponentBins().Add(values, FindExtremes(values), sums);
  EXPECT_EQ(sums.sum.ToExact(), (format::ExactSum{-149, "\x01"}));
}

// 300,000 of the largest mantissa pass the 2^16 squares that 64 bits hold, in each of four sets.
TEST(FloatSums, FoldsBeforeSquaresOverflow) {
  ExpectExact(std::vector<float>(300'000, std::bit_cast<float>(0x3FFFFFFFU)));
}

TEST(FloatSums, CountsForNothingWhatIsNotFinite) {
  FloatSums sums;
  AddFew(std::vector<float>{INFINITY, -INFINITY, NAN}, sums);
  EXPECT_EQ(sums.sum.ToExact(), format::ExactSum());
}

// 3 * 2^-1 = 1.5: odd integer 3, one byte.  -256 = -1 * 2^8: 0xFF.  -129 needs two bytes,
// 0xFF7F; 127 one; 129 two, so that it is not negative.
TEST(ExactSum, HasOneFormForEachNumber) {
  const auto exact = [](float value) {
    FloatSums sums;
    AddFew(std::vector<float>{value}, sums);
    return sums.sum.ToExact();
  };
  EXPECT_EQ(exact(1.5F), (format::ExactSum{-1, "\x03"}));
  EXPECT_EQ(exact(-256.0F), (format::ExactSum{8, "\xFF"}));
  EXPECT_EQ(exact(-129.0F), (format::ExactSum{0, "\x7F\xFF"}));
  EXPECT_EQ(exact(127.0F), (format::ExactSum{0, "\x7F"}));
  EXPECT_EQ(exact(129.0F), (format::ExactSum{0, std::string("\x81\0", 2)}));
  EXPECT_EQ(exact(0.0F), format::ExactSum());
  EXPECT_EQ(exact(-0.0F), format::ExactSum());
}

TEST(WideSum, TakesBackWhatItGave) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    FloatSums sums, again;
    AddFew(RandomBits(1 + seed % 7, seed), sums);
    ASSERT_TRUE(again.sum.Add(sums.sum.ToExact()));
    ASSERT_TRUE(again.sum_of_squares.Add(sums.sum_of_squares.ToExact()));
    EXPECT_EQ(again.sum.ToExact(), sums.sum.ToExact());
    EXPECT_EQ(again.sum_of_squares.ToExact(), sums.sum_of_squares.ToExact());
  }
}

TEST(WideSum, RefusesWhatNoSumOfFloatsIs) {
  SumOfFloats sum;
  EXPECT_FALSE(sum.Add(format::ExactSum{-150, "\x01"}));
  EXPECT_FALSE(sum.Add(format::ExactSum{1024, "\x01"}));
  EXPECT_FALSE(sum.Add(format::ExactSum{0, std::string(100, '\x11')}));
  EXPECT_EQ(sum.ToExact(), format::ExactSum());
}

// Limbs that hold 2^30 carries: added to itself 40 times, a sum doubles 40 times.
TEST(WideSum, CarriesThroughManyAdditions) {
  FloatSums sums;
  AddFew(std::vector<float>{-3.0F, 1e30F}, sums);
  for (int i = 0; i < 40; ++i) sums.Add(FloatSums(sums));
  FloatSums once;
  AddFew(std::vector<float>{-3.0F, 1e30F}, once);
  format::ExactSum expected = once.sum.ToExact();
  expected.exponent += 40;
  EXPECT_EQ(sums.sum.ToExact(), expected);
}

// 8193 values of sum 8193 * (2^53 + 1) + 1: the mean is 1/8193 above the middle of 2^53 and 2^53
// + 2. That far behind the quotient's last bit it shows in the remainder alone; one less is the
// tie, which goes to even, 2^53.
TEST(Round, SeesWhatIsFarBelowATie) {
  Integer sum;
  mpz_setbit(sum.get(), 53);
  mpz_add_ui(sum.get(), sum.get(), 1);
  mpz_mul_ui(sum.get(), sum.get(), 8193);
  Integer squares;
  mpz_setbit(squares.get(), 130);
  format::Moments moments{.count = 8193, .sum_of_squares = ToExactSum(squares, 0)};
  moments.sum = ToExactSum(sum, 0);
  EXPECT_EQ(Round(moments)->mean, 0x1p53);
  mpz_add_ui(sum.get(), sum.get(), 1);
  moments.sum = ToExactSum(sum, 0);
  EXPECT_EQ(Round(moments)->mean, 0x1p53 + 2);
}

}  // namespace
}  // namespace qtx::calibrate::wide_sum_test
