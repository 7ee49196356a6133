// softmax.S1 to softmax.S3, tflite.S8.
#include <mpfr.h>

#include "../run_op.h"

namespace qtx::reference::testing::softmax_test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

const Quantization kProbability = Q({0x1p-8F}, {-128});

// Equal inputs share 1: 1/4 * 256 = 64, less 128. An exact value, so a tie is possible: 1/8 at
// scale 1/4 is one half, to even 0.
TEST(Softmax, SharesOneBetweenEqualInputs) {
  const Tensor x = Int8({1, 4}, {9, 9, 9, 9}, Q({0.5F}, {7}));
  for (const char* arithmetic : {"exact", "float32", "tflite"}) {
    EXPECT_THAT(Integers({"Softmax", {}, {&x}, Int8Type(kProbability), arithmetic}), Each(-64));
  }
  const Tensor eight = Int8({8}, Values(8, 3), Q({0.5F}));
  EXPECT_THAT(Integers({"Softmax", {}, {&eight}, Int8Type(Q({0.25F}, {1}))}), Each(1));
}

// ln 3 apart: 1/4 and 3/4. The scale is the binary32 nearest to ln 3, a little above it, so the
// exact values are 0.2499999.. and 0.7500000.., 64 and 192 in 1/256.
TEST(Softmax, SplitsByTheExponentialOfTheDifference) {
  const Tensor x = Int8({2}, {4, 5}, Q({1.09861229F}));
  for (const char* arithmetic : {"exact", "float32", "tflite"}) {
    EXPECT_THAT(Integers({"Softmax", {}, {&x}, Int8Type(kProbability), arithmetic}),
                ElementsAre(-64, 64));
  }
}

// Two equal inputs and one 10^30 below share 1/2 but for e^-10^30: just below the tie at scale 1,
// as FLOAT 1/2. No precision that fits a memory tells it from the tie; no rounding depends on it.
TEST(Softmax, DecidesSharesThatMissATieByNextToNothing) {
  const Tensor x = Float({3}, {0.0F, 0.0F, -1e30F});
  EXPECT_THAT(Integers({"Softmax", {}, {&x}, Int8Type(Q({1.0F}, {7}))}), Each(7));
  const auto reals = OpRun{"Softmax", {}, {&x}, FloatType()}.Run();
  ASSERT_TRUE(reals.has_value());
  EXPECT_THAT(reals->As<float>(), ElementsAre(0.5F, 0.5F, 0.0F));
}

TEST(Softmax, RunsAlongTheNamedAxisOnly) {
  const Tensor x = Int8({2, 2}, {0, 100, 0, 0}, Q({1.0F}));
  EXPECT_THAT(Integers({"Softmax", {Attribute::Int("axis", 0)}, {&x}, Int8Type(kProbability)}),
              ElementsAre(0, 127, 0, -128));
}

// The value to 300 bits, far past any coincidence among these inputs.
double TextbookSoftmax(const std::vector<mpq_class>& row, std::size_t at) {
  mpfr_t sum, term;
  mpfr_init2(sum, 300);
  mpfr_init2(term, 300);
  mpfr_set_zero(sum, 1);
  for (const mpq_class& x : row) {
    const mpq_class difference = x - row[at];
    mpfr_set_q(term, difference.get_mpq_t(), MPFR_RNDN);
    mpfr_exp(term, term, MPFR_RNDN);
    mpfr_add(sum, sum, term, MPFR_RNDN);
  }
  mpfr_ui_div(sum, 1, sum, MPFR_RNDN);
  mpfr_mul_2ui(sum, sum, 8, MPFR_RNDN);
  mpfr_rint(sum, sum, MPFR_RNDN);  // ties to even
  const double stored = mpfr_get_d(sum, MPFR_RNDN);
  mpfr_clear(sum);
  mpfr_clear(term);
  return stored;
}

TEST(Softmax, EqualsThreeHundredBitsOnRandomRows) {
  Random random(31);
  for (int round = 0; round < 100; ++round) {
    const Tensor x = random.Tensor8({random.In(2, 40)}, Q({random.Scale() * 0.1F}, {3}));
    const auto reals = TextbookReals(x);
    Values expected;
    for (std::size_t i = 0; i < reals.size(); ++i) {
      const auto stored = static_cast<std::int64_t>(TextbookSoftmax(reals, i)) - 128;
      expected.push_back(std::min<std::int64_t>(stored, 127));
    }
    EXPECT_EQ(Integers({"Softmax", {}, {&x}, Int8Type(kProbability)}), expected);
  }
}

// The double path cannot decide values of this size at this scale: MPFR does.
TEST(Softmax, FallsBackWhereDoubleIsInDoubt) {
  const Tensor x = Float({2}, {0.0F, 0x1p-30F});  // 1/2 -+ 2^-32 / ...: next to the tie of scale 1
  OpRun run{"Softmax", {}, {&x}, Int8Type(Q({1.0F}))};
  EXPECT_EQ(format::UnpackIntegers(*run.Run()), (Values{0, 1}));
  const Tensor closer = Float({2}, {0.0F, 0x1p-100F});
  OpRun wide{"Softmax", {}, {&closer}, Int8Type(Q({1.0F}))};
  EXPECT_EQ(format::UnpackIntegers(*wide.Run()), (Values{0, 1}));
  EXPECT_EQ(wide.counters.exact_fallbacks, 2U);
}

TEST(Softmax, ConvertsTinyResultsWithoutUnderflowTrouble) {
  const Tensor x = Float({3}, {-1e30F, -100.0F, 0.0F});
  EXPECT_THAT(Floats({"Softmax", {}, {&x}, FloatType()}),
              ElementsAre(0.0F, 3.78350585e-44F, 1.0F));  // e^-100, a subnormal
}

TEST(Softmax, GivesNanWhereTheQuotientIsNone) {
  const float inf = std::numeric_limits<float>::infinity();
  const Tensor bad = Float({2}, {inf, 0.0F});
  const Tensor none = Float({2}, {-inf, -inf});
  const Tensor one = Float({2}, {-inf, 5.0F});
  for (const char* arithmetic : {"exact", "float32"}) {
    for (const Tensor* x : {&bad, &none}) {
      EXPECT_THAT(Floats({"Softmax", {}, {x}, FloatType(), arithmetic}), Each(::testing::IsNan()));
    }
    EXPECT_THAT(Floats({"Softmax", {}, {&one}, FloatType(), arithmetic}), ElementsAre(0.0F, 1.0F));
  }
}

TEST(Softmax, RefusesAnAxisOutsideTheRank) {
  const Tensor x = Float({2}, {0.0F, 0.0F});
  EXPECT_THAT(ErrorOf({"Softmax", {Attribute::Int("axis", 1)}, {&x}, FloatType()}),
              ::testing::StartsWith("attribute 'axis'"));
}

}  // namespace
}  // namespace qtx::reference::testing::softmax_test
