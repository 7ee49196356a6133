// attention.S1 to attention.S11 against plain loops of 600 bits, and of binary32.
#include "attention_textbook.h"

namespace qtx::reference::testing::attention_test {
namespace {

using ::testing::ElementsAre;

const float kInfinity = std::numeric_limits<float>::infinity();

void ExpectTextbook600(const Problem& p, const OutputType& type) {
  const Dims dims = p.s.Of(p.s.heads, p.s.queries, p.s.v_size);
  ASSERT_EQ(Integers({"Attention", p.Attributes(), p.Inputs(), type}),
            TextbookStored(Textbook600(p), type, dims));
}

TEST(Attention, EqualsSixHundredBitsOnRandomCalls) {
  Random random(81);
  for (std::uint32_t round = 0; round < 210; ++round) {
    const Problem p = RandomProblem(random, round);
    const OutputType wide = Type(ElementType::kInt16Q, Q({0x1.3p-9F}, {-5}));
    ExpectTextbook600(p, round % 2 == 0 ? Int8Type(random.PerTensor()) : wide);
    if (HasFatalFailure()) FAIL() << "round " << round;
  }
}

// Small values on a coarse grid: ties in most rows.
TEST(Attention, DecidesTies) {
  Random random(82);
  for (std::uint32_t round = 0; round < 150; ++round) {
    Problem p = RandomProblem(random, round);
    Values values(p.v.bytes.size());
    for (std::int64_t& value : values) value = round % 2 == 0 ? 3 : random.In(1, 2);
    p.v = Int8(p.v.dims, values, Q({0.5F}));
    if (p.past_v) p.past_v = Int8(p.past_v->dims, Values(p.past_v->bytes.size(), 3), Q({0.5F}));
    if (round % 3 != 0) p.q = Int8(p.q.dims, Values(p.q.bytes.size(), 4), Q({1.0F}, {4}));
    ExpectTextbook600(p, Int8Type(Q({1.0F}, {3})));
    if (HasFatalFailure()) FAIL() << "round " << round;
  }
}

TEST(Attention, HoldsAtExtremeScales) {
  Random random(83);
  for (std::uint32_t round = 0; round < 80; ++round) {
    Problem p = RandomProblem(random, round);
    const float tiny = round % 2 == 0 ? 0x1p-140F : 0x1p-126F;
    p.q.quantization->scale = {round % 4 < 2 ? tiny : 0x1p120F};
    if (round % 3 == 0) p.k = Int8(p.k.dims, format::UnpackIntegers(p.k), Q({0x1p-122F}));
    p.v = Int8(p.v.dims, format::UnpackIntegers(p.v), Q({round % 2 == 0 ? tiny : 0x1p120F}));
    p.past_k = p.past_v = std::nullopt;
    p.s.past = 0;
    p.mask = std::nullopt;
    ExpectTextbook600(p, Int8Type(Q({round % 2 == 0 ? tiny * 2 : 0x1.8p120F}, {1})));
    if (HasFatalFailure()) FAIL() << "round " << round;
  }
}

// Every result lies within e^-5000 of a tie: the side decides, not 7000 bits.
TEST(Attention, DecidesNextToTiesByTheSign) {
  const std::int64_t n = 64;
  Values scores(static_cast<std::size_t>(n), -100);
  Values values(static_cast<std::size_t>(n * n), 7);
  scores[0] = 0;
  for (std::int64_t d = 0; d < n; ++d) values[static_cast<std::size_t>(d)] = 5;
  const Tensor q = Int8({1, 1, n, 1}, Values(static_cast<std::size_t>(n), 1), Q({50.0F}));
  const Tensor k = Int8({1, 1, n, 1}, scores, Q({1.0F}));
  const Tensor v = Int8({1, 1, n, n}, values, Q({0.5F}));
  EXPECT_EQ(Integers({"Attention", {}, {&q, &k, &v}, Int8Type(Q({1.0F}))}),
            Values(static_cast<std::size_t>(n * n), 3));
}

TEST(Attention, RoundsToBinary32Once) {
  Random random(84);
  for (std::uint32_t round = 0; round < 60; ++round) {
    const Problem p = RandomProblem(random, round);
    const Reals exact = Textbook600(p);
    std::vector<float> expected;
    for (const mpq_class& y : exact) expected.push_back(TextbookFloat(y));
    ASSERT_EQ(Floats({"Attention", p.Attributes(), p.Inputs(), FloatType()}), expected) << round;
  }
}

// attention.S10, on [1, 1, length, size].
TEST(Attention, IsOneOperationOfBinary32AtATime) {
  Random random(85);
  const auto numbers = [&random](std::size_t count) {
    std::vector<float> all(count);
    for (float& x : all) x = static_cast<float>(random.In(-4000, 4000)) / 1009.0F;
    return all;
  };
  for (int round = 0; round < 100; ++round) {
    const std::vector<float> qs = numbers(3), ks = numbers(15), vs = numbers(5), bs = numbers(5);
    const Tensor q = Float({1, 1, 1, 3}, qs), k = Float({1, 1, 5, 3}, ks);
    const Tensor v = Float({1, 1, 5, 1}, vs), mask = Float({1, 5}, bs);
    const float root = std::sqrt(1.0F / std::sqrt(3.0F));
    std::vector<float> scores(5);
    for (std::size_t j = 0; j < 5; ++j) {
      for (std::size_t d = 0; d < 3; ++d) scores[j] += (qs[d] * root) * (ks[3 * j + d] * root);
      const MpfrFunction tanh = [](mpfr_ptr x) { mpfr_tanh(x, x, MPFR_RNDN); };
      scores[j] = TextbookFloat(tanh, scores[j] / 3.0F) * 3.0F + bs[j];
    }
    const float maximum = *std::max_element(scores.begin(), scores.end());
    float total = 0, y = 0;
    const MpfrFunction exp = [](mpfr_ptr x) { mpfr_exp(x, x, MPFR_RNDN); };
    for (float& score : scores) total += (score = TextbookFloat(exp, score - maximum));
    for (std::size_t j = 0; j < 5; ++j) y += scores[j] / total * vs[j];
    OpRun run{"Attention", {Attribute::Float("softcap", 3)}, {&q, &k, &v, &mask}, FloatType()};
    run.arithmetic = "float32";
    ASSERT_THAT(Floats(run), ElementsAre(y)) << round;
  }
}

// A cap brings an infinite product back; without one the row is NaN, hidden or not.
TEST(Attention, FollowsIeeeAtInfinity) {
  const Tensor q = Float({1, 1, 1, 1}, {1});
  const Tensor k = Float({1, 1, 2, 1}, {0, kInfinity});
  const Tensor v = Float({1, 1, 2, 1}, {0, 100});
  const Tensor both = Float({1, 2}, {-kInfinity, -kInfinity});
  for (const char* arithmetic : {"exact", "float32"}) {
    OpRun run{"Attention", {Attribute::Float("softcap", 1)}, {&q, &k, &v}, FloatType()};
    run.arithmetic = arithmetic;
    EXPECT_NEAR(Floats(run)[0], 73.10586F, 1e-4F);
    run.attributes.clear();
    EXPECT_TRUE(std::isnan(Floats(run)[0]));
    run.inputs.push_back(&both);
    EXPECT_THAT(Floats(run), ElementsAre(0.0F));
  }
}

TEST(Attention, GivesNothingForNoQueriesAndZeroForNoKeys) {
  const Tensor none = Int8({1, 1, 0, 2}, {}, Q({1.0F}));
  const Tensor two = Int8({1, 1, 1, 2}, {1, 2}, Q({1.0F}));
  EXPECT_EQ(Integers({"Attention", {}, {&none, &two, &two}, Int8Type(Q({1.0F}))}), Values{});
  EXPECT_EQ(Integers({"Attention", {}, {&two, &none, &none}, Int8Type(Q({1.0F}, {7}))}),
            (Values{7, 7}));
}

TEST(Attention, RefusesMoreThanItCanCompute) {
  const Tensor x = Int8({1, 1, 2897, 1}, Values(2897, 0), Q({1.0F}));
  EXPECT_EQ(ErrorOf({"Attention", {}, {&x, &x, &x}, Int8Type(Q({1.0F}))}),
            "input[0] 'in0': needs more than 16777216 products");
}

}  // namespace
}  // namespace qtx::reference::testing::attention_test
