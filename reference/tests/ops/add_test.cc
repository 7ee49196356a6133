// Add and its kin: add.S1, sub.S1, mul.S1, tflite.S5, tflite.S6.
#include "../run_op.h"

namespace qtx::reference::testing {
namespace {

using ::testing::ElementsAre;

Tensor AllBytes(const Dims& dims, const Quantization& q) {
  Values values;
  for (std::int64_t v = -128; v <= 127; ++v) values.push_back(v);
  return Int8(dims, values, q);
}

std::vector<mpq_class> Combine(const std::string& op, const Tensor& a, const Tensor& b) {
  std::vector<mpq_class> reals;
  for (const mpq_class& left : TextbookReals(a)) {
    for (const mpq_class& right : TextbookReals(b)) {
      const mpq_class sum = left + right;
      const mpq_class difference = left - right;
      const mpq_class product = left * right;
      reals.push_back(op == "Add" ? sum : op == "Sub" ? difference : product);
    }
  }
  return reals;
}

// Sums 5 -5 1 -1, halved 2.5 -2.5 0.5 -0.5, to even 2 -2 0 0, plus 3.
TEST(Add, RoundsTiesToEvenBeforeTheOffset) {
  const Tensor a = Int8({4}, {2, -2, 1, -1}, Q({1.0F}));
  const Tensor b = Int8({4}, {3, -3, 0, 0}, Q({1.0F}));
  for (const char* arithmetic : {"exact", "float32"}) {
    EXPECT_THAT(Integers({"Add", {}, {&a, &b}, Int8Type(Q({2.0F}, {3})), arithmetic}),
                ElementsAre(5, 1, 3, 3));
  }
}

TEST(Add, EqualsTheTextbookOnAllPairsOfBytes) {
  // 3/4 and 1/2 over 5/8: quotients in steps of 1/5, ties for every odd multiple of 5/2.
  const Tensor a = AllBytes({256, 1}, Q({0.75F}, {-3}));
  const Tensor b = AllBytes({1, 256}, Q({0.5F}, {7}));
  for (const char* op : {"Add", "Sub", "Mul"}) {
    const OutputType type = Int8Type(Q({op == std::string("Mul") ? 37.5F : 1.25F}, {1}));
    EXPECT_EQ(Integers({op, {}, {&a, &b}, type}),
              TextbookStored(Combine(op, a, b), type, {256, 256}))
        << op;
  }
}

TEST(Add, EqualsTheTextbookWithScalesOfFullPrecision) {
  const Tensor a = AllBytes({256, 1}, Q({0.0123456789F}, {5}));
  const Tensor b = AllBytes({1, 256}, Q({0.0987654321F}, {-9}));
  const OutputType type = Int8Type(Q({0.107F}, {-2}));
  OpRun run{"Add", {}, {&a, &b}, type};
  EXPECT_EQ(format::UnpackIntegers(*run.Run()),
            TextbookStored(Combine("Add", a, b), type, {256, 256}));
  EXPECT_EQ(run.counters.exact_fallbacks, 0U);  // no tie among these, and none near enough
  EXPECT_EQ(run.counters.rounded, 65536U);
}

TEST(Add, CountsTiesAsFallbacks) {
  const Tensor a = Int8({3}, {1, 2, 3}, Q({1.0F}));
  OpRun run{"Add", {}, {&a, &a}, Int8Type(Q({4.0F}))};
  EXPECT_EQ(format::UnpackIntegers(*run.Run()), (Values{0, 1, 2}));  // 0.5, 1, 1.5
  EXPECT_EQ(run.counters.exact_fallbacks, 2U);
}

TEST(Add, TakesEachElementsOwnScale) {
  const Tensor a = Int8({2, 2}, {1, 1, 1, 1}, Q({1.0F, 10.0F}, {0, -1}, {0}));
  const Tensor b = Float({2}, {0.5F, 100.0F});
  EXPECT_THAT(Integers({"Add", {}, {&a, &b}, Int8Type(Q({1.0F}))}), ElementsAre(2, 101, 20, 120));
}

TEST(Add, GivesTheNearestFloatOfTheExactSum) {
  // 2^24 + 1 is a tie, to even 2^24; with 2^-30 more it is above.
  const Tensor a = Float({2}, {0x1p24F, 0x1p24F});
  const Tensor b = Float({2}, {1.0F, 1.0000001F});
  EXPECT_THAT(Floats({"Add", {}, {&a, &b}, FloatType()}), ElementsAre(0x1p24F, 0x1.000002p24F));
}

TEST(Add, FollowsIeeeForNanAndInfinity) {
  const float inf = std::numeric_limits<float>::infinity();
  const Tensor a = Float({3}, {inf, inf, -inf});
  const Tensor b = Float({3}, {-inf, 1.0F, 1.0F});
  for (const char* arithmetic : {"exact", "float32"}) {  // NaN is the offset
    EXPECT_THAT(Integers({"Add", {}, {&a, &b}, Int8Type(Q({1.0F}, {9})), arithmetic}),
                ElementsAre(9, 127, -128));
  }
}

// tflite.S5 by hand: scales 1, 1, y 2: t = 2, both factors 1/2; u = a * 2^19, v = b * 2^19. The sum
// times 2 / (2^20 * 2) = 2^-20 (mantissa 2^30, shift -19): 5 * 2^19 -> high 5 * 2^18, / 2^19 = 2.5
// away 3.
TEST(Add, RoundsAwayInTflite) {
  const Tensor a = Int8({2}, {2, -2}, Q({1.0F}));
  const Tensor b = Int8({2}, {3, -3}, Q({1.0F}));
  EXPECT_THAT(Integers({"Add", {}, {&a, &b}, Int8Type(Q({2.0F}, {1})), "tflite"}),
              ElementsAre(4, -2));
}

// tflite.S11: there is no kernel for 4-bit operands.
TEST(Add, IsExactInTfliteWithoutAKernel) {
  const Tensor a = Stored(ElementType::kInt4Q, {2}, {2, -2}, Q({1.0F}));
  EXPECT_THAT(Integers({"Add", {}, {&a, &a}, Int8Type(Q({1.6F})), "tflite"}), ElementsAre(2, -2));
}

TEST(Add, RefusesShapesThatDoNotBroadcast) {
  const Tensor a = Float({2}, {1, 2});
  const Tensor b = Float({3}, {1, 2, 3});
  EXPECT_THAT(ErrorOf({"Add", {}, {&a, &b}, FloatType()}), ::testing::HasSubstr("[2] and [3]"));
}

// tflite.S6: factor 1/4 twice: 1 * 1 -> 1, as in MultiplyFixed.
TEST(Mul, RoundsTwiceInTflite) {
  const Tensor a = Int8({2}, {1, -1}, Q({1.0F}));
  const Tensor b = Int8({2}, {1, 1}, Q({1.0F}));
  EXPECT_THAT(Integers({"Mul", {}, {&a, &b}, Int8Type(Q({4.0F})), "tflite"}), ElementsAre(1, 0));
}

TEST(Sub, KeepsTheOrderOfItsOperands) {
  const Tensor a = Int8({1}, {1}, Q({1.0F}));
  const Tensor b = Int8({1}, {5}, Q({1.0F}));
  for (const char* arithmetic : {"exact", "float32", "tflite"}) {
    EXPECT_THAT(Integers({"Sub", {}, {&a, &b}, Int8Type(Q({1.0F})), arithmetic}), ElementsAre(-4));
  }
}

}  // namespace
}  // namespace qtx::reference::testing
