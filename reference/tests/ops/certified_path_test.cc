// The certified paths of the operators at scales from the smallest subnormal to the largest
// binary32 against rationals, and the counters: a fallback for each tie and for nothing else.
#include <bit>

#include "../run_op.h"
#include "../textbook_float.h"

namespace qtx::reference::testing {
namespace {

using ::testing::ElementsAre;

// Any positive finite binary32.
float AnyScale(Random& random) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(random.In(1, 0x7f7fffff)));
}

// The binary32 nearest to a fraction of `size`, so that results spread over the stored range.
float ScaleNear(Random& random, const mpq_class& size) {
  const float scale = TextbookFloat(abs(size) / static_cast<long>(random.In(1, 200)));
  return scale > 0 && scale <= 0x1.fffffep127F ? scale : AnyScale(random);
}

// `reals` are the exact results of `run`: rounded to a type near them, and to FLOAT.
void CheckRounding(Random& random, OpRun run, const std::vector<mpq_class>& reals,
                   const Dims& dims) {
  const auto pick = static_cast<std::size_t>(random.In(0, static_cast<int>(reals.size()) - 1));
  for (const ElementType type : {ElementType::kInt8Q, ElementType::kInt16Q, ElementType::kInt32Q}) {
    run.output = Type(type, Q({ScaleNear(random, reals[pick])},
                              {static_cast<std::int32_t>(random.In(-100, 100))}));
    ASSERT_EQ(Integers(run), TextbookStored(reals, run.output, dims)) << run.op;
  }
  run.output = FloatType();
  const std::vector<float> floats = Floats(run);
  ASSERT_EQ(floats.size(), reals.size());
  for (std::size_t i = 0; i < floats.size(); ++i) {
    // Bits: the sign of a zero counts.
    ASSERT_EQ(std::bit_cast<std::uint32_t>(floats[i]),
              std::bit_cast<std::uint32_t>(TextbookFloat(reals[i])))
        << run.op << ": " << floats[i];
  }
}

TEST(CertifiedPath, CombinesPairsAtEveryScale) {
  Random random(1);
  for (int round = 0; round < 300; ++round) {
    const float scale = AnyScale(random);
    // Equal, neighbouring or unrelated scales: cancellation, near cancellation, absorption.
    const float other = round % 3 == 0   ? scale
                        : round % 3 == 1 ? std::nextafter(scale, 1.0F)
                                         : AnyScale(random);
    const Tensor a =
        random.Tensor8({16}, Q({scale}, {static_cast<std::int32_t>(random.In(-9, 9))}));
    const Tensor b = random.Tensor8({16}, Q({other}));
    const auto x = TextbookReals(a);
    const auto y = TextbookReals(b);
    std::vector<mpq_class> sum, difference, product;
    for (std::size_t i = 0; i < x.size(); ++i) {
      sum.emplace_back(x[i] + y[i]);
      difference.emplace_back(x[i] - y[i]);
      product.emplace_back(x[i] * y[i]);
    }
    CheckRounding(random, {.op = "Add", .inputs = {&a, &b}}, sum, a.dims);
    CheckRounding(random, {.op = "Sub", .inputs = {&a, &b}}, difference, a.dims);
    CheckRounding(random, {.op = "Mul", .inputs = {&a, &b}}, product, a.dims);
    CheckRounding(random, {.op = "Identity", .inputs = {&a}}, x, a.dims);
  }
}

TEST(CertifiedPath, SumsProductsAtEveryScale) {
  Random random(2);
  for (int round = 0; round < 300; ++round) {
    const Tensor x = random.Tensor8({1, 4, 1}, Q({AnyScale(random)}, {3}));
    const Tensor w =
        random.Tensor8({3, 4, 1}, Q({AnyScale(random), AnyScale(random), 1.0F}, {}, {0}));
    const Tensor b =
        Stored(ElementType::kInt32Q, {3},
               {random.In(-999, 999), random.In(INT32_MIN, INT32_MAX), 0}, Q({AnyScale(random)}));
    const auto xs = TextbookReals(x);
    const auto ws = TextbookReals(w);
    std::vector<mpq_class> reals = TextbookReals(b);
    for (std::size_t m = 0; m < 3; ++m) {
      for (std::size_t c = 0; c < 4; ++c) reals[m] += xs[c] * ws[m * 4 + c];
    }
    CheckRounding(random, {.op = "Conv", .inputs = {&x, &w, &b}}, reals, {1, 3, 1});
  }
}

TEST(CertifiedPath, AveragesAtEveryScale) {
  Random random(3);
  for (int round = 0; round < 300; ++round) {
    const Tensor x = random.Tensor8({1, 3, random.In(1, 49)}, Q({AnyScale(random)}, {-5}));
    const auto xs = TextbookReals(x);
    std::vector<mpq_class> reals(3);
    for (std::size_t i = 0; i < xs.size(); ++i) reals[i / (xs.size() / 3)] += xs[i];
    for (mpq_class& real : reals) real /= static_cast<unsigned long>(xs.size() / 3);
    CheckRounding(random, {.op = "GlobalAveragePool", .inputs = {&x}}, reals, {1, 3, 1});
  }
}

// Rows far from zero: the larger the magnitude, the less binary64 knows of the differences.
TEST(CertifiedPath, SharesFarFromZero) {
  Random random(4);
  std::uint64_t fallbacks = 0;
  for (int round = 0; round < 120; ++round) {
    const int exponent = round % 30;
    std::vector<float> row;
    for (int k = 0; k < 12; ++k) {
      row.push_back(std::ldexp(1.0F, exponent) -
                    std::ldexp(static_cast<float>(random.In(0, 9)), std::max(exponent - 23, -2)));
    }
    std::vector<mpq_class> shares;
    shares.reserve(row.size());
    for (std::size_t i = 0; i < row.size(); ++i) shares.push_back(TextbookShare(row, i));
    const Tensor x = Float({12}, row);
    CheckRounding(random, {.op = "Softmax", .inputs = {&x}}, shares, x.dims);
    OpRun run{.op = "Softmax", .inputs = {&x}, .output = FloatType()};
    ASSERT_TRUE(run.Run().has_value());
    EXPECT_EQ(run.counters.rounded, 12U);
    if (exponent < 10) {
      EXPECT_EQ(run.counters.exact_fallbacks, 0U);
    }
    fallbacks += run.counters.exact_fallbacks;
  }
  EXPECT_GT(fallbacks, 20U);
}

// 1 - 1 is +0 whatever the scale, and so is a share that underflows: a bound that underflows as
// well must not make it -0.
TEST(CertifiedPath, GivesAnExactZeroNoSign) {
  for (const float scale : {0x1p-149F, 0x1p-110F, 1.0F, 0x1p127F}) {
    const Tensor a = Int8({1}, {1}, Q({scale}));
    EXPECT_FALSE(std::signbit(Floats({"Sub", {}, {&a, &a}, FloatType()})[0])) << scale;
  }
  const Tensor x = Float({2}, {0.0F, -1000.0F});
  EXPECT_FALSE(std::signbit(Floats({"Softmax", {}, {&x}, FloatType()})[1]));
}

// v / 8 is a tie where v = 4 modulo 8. From -128.5 to 127.5 that decides: 257 of them; beyond, the
// clamp does. Everything else is at least 1/8 from a tie.
TEST(Counters, CountAFallbackForEachTieAndNothingElse) {
  Values all;
  for (std::int64_t v = -32768; v < 32768; ++v) all.push_back(v);
  const Tensor x = Stored(ElementType::kInt16Q, {65536}, all, Q({0.125F}));
  OpRun run{"Identity", {}, {&x}, Int8Type(Q({1.0F}))};
  ASSERT_TRUE(run.Run().has_value());
  EXPECT_EQ(run.counters.rounded, 65536U);
  EXPECT_EQ(run.counters.exact_fallbacks, 257U);
}

// With the offset o the range is -128 - o to 127 - o, the ties -128.5 - o to 127.5 - o: 257 again.
TEST(Counters, CountTiesInTheRangeThatTheOffsetLeaves) {
  Values all;
  for (std::int64_t v = -32768; v < 32768; ++v) all.push_back(v);
  const Tensor x = Stored(ElementType::kInt16Q, {65536}, all, Q({0.5F}));
  OpRun run{"Identity", {}, {&x}, Int8Type(Q({2.0F}, {100}))};
  ASSERT_TRUE(run.Run().has_value());
  EXPECT_EQ(run.counters.exact_fallbacks, 257U);
}

// 2^24 + 1 and + 3 lie between binary32 numbers 2 apart, 2^25 + 2 between two 4 apart.
TEST(Counters, CountTiesOfBinary32) {
  const std::int64_t p = std::int64_t{1} << 24;
  const Tensor x =
      Stored(ElementType::kInt32Q, {5}, {p + 1, p + 2, p + 3, 2 * p + 2, 2 * p + 3}, Q({1.0F}));
  OpRun run{"Identity", {}, {&x}, FloatType()};
  const auto result = run.Run();
  ASSERT_TRUE(result.has_value());
  EXPECT_THAT(result->As<float>(),
              ElementsAre(0x1p24F, 0x1.000002p24F, 0x1.000004p24F, 0x1p25F, 0x1.000002p25F));
  EXPECT_EQ(run.counters.rounded, 5U);
  EXPECT_EQ(run.counters.exact_fallbacks, 3U);
}

// Accumulators 0 to 15 over 4: ties at 2, 6, 10 and 14.
TEST(Counters, CountTiesOfAccumulators) {
  Values all;
  for (std::int64_t v = 0; v < 16; ++v) all.push_back(v);
  const Tensor x = Int8({16, 1}, all, Q({1.0F}));
  const Tensor w = Int8({1, 1}, {1}, Q({0.5F}));
  OpRun run{"MatMul", {}, {&x, &w}, Int8Type(Q({2.0F}))};
  ASSERT_TRUE(run.Run().has_value());
  EXPECT_EQ(run.counters.rounded, 16U);
  EXPECT_EQ(run.counters.exact_fallbacks, 4U);
}

// float32.S5 rounds a bias at another scale to that of the accumulator, ties to even; here the bias
// is in halves of it: all ties. Scale 1: nothing else is rounded.
TEST(CertifiedPath, BringsABiasToTheScaleOfTheAccumulator) {
  const Tensor x = Int8({1, 1, 1}, {0}, Q({1.0F}));
  const Tensor w = Int8({5, 1, 1}, {0, 0, 0, 0, 0}, Q({1.0F}));
  const Tensor b = Stored(ElementType::kInt32Q, {5}, {1, 3, 5, -1, -3}, Q({0.5F}));
  EXPECT_THAT(Integers({"Conv", {}, {&x, &w, &b}, Int8Type(Q({1.0F})), "float32"}),
              ElementsAre(0, 2, 2, 0, -2));
}

// 2^-100 * 2^-100 is 0 in binary32, and so is the multiplier: nothing divides by it.
TEST(CertifiedPath, TakesABiasWhereTheProductOfScalesUnderflows) {
  const Tensor x = Int8({1, 1, 1}, {5}, Q({0x1p-100F}));
  const Tensor w = Int8({1, 1, 1}, {7}, Q({0x1p-100F}));
  for (const std::int64_t bias : {0, 1, -1, 1000000}) {
    const Tensor b = Stored(ElementType::kInt32Q, {1}, {bias}, Q({0.5F}));
    EXPECT_THAT(Integers({"Conv", {}, {&x, &w, &b}, Int8Type(Q({1.0F}, {9})), "float32"}),
                ElementsAre(9));
  }
}

}  // namespace
}  // namespace qtx::reference::testing
