// gemm.S1 to gemm.S4, mat_mul.S1 to mat_mul.S4, float32.S4.
#include "../run_op.h"

namespace qtx::reference::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Row 0 of B is 1 1 at scale 1, row 1 is 1 2 at scale 2: 1 + 10, and 2 + 40.
TEST(Gemm, ScalesGoWithTheRowsOfATransposedB) {
  const Tensor a = Int8({1, 2}, {1, 10}, Q({1.0F}));
  const Tensor b = Int8({2, 2}, {1, 1, 1, 2}, Q({1.0F, 2.0F}, {}, {0}));
  for (const char* arithmetic : {"exact", "float32", "tflite"}) {
    EXPECT_THAT(
        Integers(
            {"Gemm", {Attribute::Int("transB", 1)}, {&a, &b}, Int8Type(Q({1.0F})), arithmetic}),
        ElementsAre(11, 42));
  }
}

std::vector<mpq_class> TextbookGemm(const Tensor& a, bool ta, const Tensor& b, bool tb,
                                    const Tensor* c, const mpq_class& alpha,
                                    const mpq_class& beta) {
  const auto as = TextbookReals(a);
  const auto bs = TextbookReals(b);
  const std::int64_t m = a.dims[ta ? 1 : 0], k = a.dims[ta ? 0 : 1], n = b.dims[tb ? 0 : 1];
  std::vector<mpq_class> reals;
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      mpq_class sum = 0;
      for (std::int64_t l = 0; l < k; ++l) {
        sum += as[static_cast<std::size_t>(ta ? l * m + i : i * k + l)] *
               bs[static_cast<std::size_t>(tb ? j * k + l : l * n + j)];
      }
      mpq_class result = alpha * sum;
      if (c != nullptr) result += beta * TextbookReals(*c)[static_cast<std::size_t>(j)];
      reals.push_back(result);
    }
  return reals;
}

TEST(Gemm, EqualsTheTextbookForAllTransposesAndFactors) {
  Random random(11);
  for (int round = 0; round < 48; ++round) {
    const bool ta = (round & 1) != 0;
    const bool tb = (round & 2) != 0;
    const float alpha = (round & 4) != 0 ? 0.75F : 1.0F;
    const float beta = (round & 8) != 0 ? -1.5F : 1.0F;
    const std::int64_t m = random.In(1, 4), k = random.In(1, 9), n = random.In(1, 4);
    const Tensor a = random.Tensor8(ta ? Dims{k, m} : Dims{m, k}, random.PerTensor());
    // A scale per output channel, or along K, which has no integer accumulator.
    const std::int64_t axis = round % 3 == 0 ? (tb ? 1 : 0) : (tb ? 0 : 1);
    const Dims b_dims = tb ? Dims{n, k} : Dims{k, n};
    const Tensor b =
        random.Tensor8(b_dims, random.PerAxis(axis, b_dims[static_cast<std::size_t>(axis)]));
    const Tensor c = Stored(ElementType::kInt32Q, {n}, Values(static_cast<std::size_t>(n), 77),
                            random.PerAxis(0, n));
    const OutputType type = Int8Type(Q({random.Scale() * 200}, {-4}));
    EXPECT_EQ(Integers({"Gemm",
                        {Attribute::Int("transA", ta ? 1 : 0), Attribute::Int("transB", tb ? 1 : 0),
                         Attribute::Float("alpha", alpha), Attribute::Float("beta", beta)},
                        {&a, &b, &c},
                        type}),
              TextbookStored(TextbookGemm(a, ta, b, tb, &c, mpq_class(static_cast<double>(alpha)),
                                          mpq_class(static_cast<double>(beta))),
                             type, {m, n}))
        << "round " << round;
  }
}

TEST(Gemm, BroadcastsC) {
  const Tensor a = Int8({2, 1}, {1, 2}, Q({1.0F}));
  const Tensor b = Int8({1, 2}, {10, 20}, Q({1.0F}));
  const Tensor column = Stored(ElementType::kInt32Q, {2, 1}, {1, 2}, Q({1.0F}));
  const Tensor scalar = Stored(ElementType::kInt32Q, {}, {5}, Q({1.0F}));
  const OutputType type = Int8Type(Q({1.0F}));
  EXPECT_THAT(Integers({"Gemm", {}, {&a, &b, &column}, type}), ElementsAre(11, 21, 22, 42));
  EXPECT_THAT(Integers({"Gemm", {}, {&a, &b, &scalar}, type}), ElementsAre(15, 25, 25, 45));
  const Tensor wrong = Stored(ElementType::kInt32Q, {3}, {1, 2, 3}, Q({1.0F}));
  EXPECT_THAT(ErrorOf({"Gemm", {}, {&a, &b, &wrong}, type}), HasSubstr("broadcast"));
}

TEST(MatMul, RefusesMoreBatchesOfNothingThanItCanCount) {
  const std::int64_t many = std::int64_t{1} << 30;
  const Tensor a = Float({many, 0, 1}, {});
  const Tensor b = Float({1, 2}, {0, 0});
  EXPECT_THAT(ErrorOf({"MatMul", {}, {&a, &b}, FloatType()}), HasSubstr("elements"));
}

TEST(Gemm, RefusesDifferentInnerDimensions) {
  const Tensor a = Int8({1, 3}, {1, 2, 3}, Q({1.0F}));
  const Tensor b = Int8({2, 1}, {1, 2}, Q({1.0F}));
  EXPECT_THAT(ErrorOf({"Gemm", {}, {&a, &b}, Int8Type(Q({1.0F}))}),
              HasSubstr("found inner size 2, expected 3"));
}

// The exact quotient 585 * binary32(1/90) is 6.50000016; the binary32 product is the tie.
TEST(MatMul, TellsFloat32FromExactOnTensorflow102943) {
  const Tensor a = Int8({1, 5}, {117, 117, 117, 117, 117}, Q({1.0F / 90.0F}));
  const Tensor b = Int8({5, 1}, {1, 1, 1, 1, 1}, Q({1.0F}));
  const OutputType type = Int8Type(Q({1.0F}));
  EXPECT_THAT(Integers({"MatMul", {}, {&a, &b}, type}), ElementsAre(7));
  EXPECT_THAT(Integers({"MatMul", {}, {&a, &b}, type, "float32"}), ElementsAre(6));
}

// 4 * 255 * 127 / 1024 = 126.5: pairs saturated to 32767 would give 64.
TEST(MatMul, DoesNotSaturatePairs) {
  const Tensor a = Stored(ElementType::kUint8Q, {1, 4}, {255, 255, 255, 255}, Q({1.0F}));
  const Tensor b = Int8({4, 1}, {127, 127, 127, 127}, Q({1.0F}));
  for (const char* arithmetic : {"exact", "float32"}) {
    EXPECT_THAT(Integers({"MatMul", {}, {&a, &b}, Int8Type(Q({1024.0F})), arithmetic}),
                ElementsAre(127));
  }
}

TEST(MatMul, BroadcastsLeadingDimensions) {
  const Tensor a = Int8({2, 1, 1, 2}, {1, 2, 3, 4}, Q({1.0F}));
  const Tensor b = Int8({2, 2, 1}, {1, 0, 0, 1}, Q({1.0F}));
  OpRun run{"MatMul", {}, {&a, &b}, Int8Type(Q({1.0F}))};
  EXPECT_EQ(run.Run()->dims, (Dims{2, 2, 1, 1}));
  EXPECT_THAT(Integers(run), ElementsAre(1, 2, 3, 4));
}

TEST(MatMul, TreatsRankOneAsRowAndColumn) {
  const Tensor a = Int8({2}, {1, 2}, Q({1.0F}));
  const Tensor b = Int8({2, 2}, {1, 2, 3, 4}, Q({1.0F}));
  const OutputType type = Int8Type(Q({1.0F}));
  OpRun row{"MatMul", {}, {&a, &b}, type};
  EXPECT_EQ(row.Run()->dims, (Dims{2}));
  EXPECT_THAT(Integers(row), ElementsAre(7, 10));
  EXPECT_THAT(Integers({"MatMul", {}, {&b, &a}, type}), ElementsAre(5, 11));
  OpRun dot{"MatMul", {}, {&a, &a}, type};
  EXPECT_EQ(dot.Run()->dims, Dims{});
  EXPECT_THAT(Integers(dot), ElementsAre(5));
}

TEST(MatMul, GivesRealZeroForAnEmptySum) {
  const Tensor a = Int8({2, 0}, {}, Q({1.0F}));
  const Tensor b = Int8({0, 1}, {}, Q({1.0F}));
  for (const char* arithmetic : {"exact", "float32", "tflite"}) {
    EXPECT_THAT(Integers({"MatMul", {}, {&a, &b}, Int8Type(Q({1.0F}, {-7})), arithmetic}),
                ElementsAre(-7, -7));
  }
}

// 2^24 + 1 - 2^24: the order of a binary32 sum loses the 1, the exact sum keeps it.
TEST(MatMul, SumsFloatsExactlyOrInOrder) {
  const Tensor a = Float({1, 3}, {0x1p24F, 1.0F, -0x1p24F});
  const Tensor b = Float({3, 1}, {1.0F, 1.0F, 1.0F});
  EXPECT_THAT(Floats({"MatMul", {}, {&a, &b}, FloatType()}), ElementsAre(1.0F));
  EXPECT_THAT(Floats({"MatMul", {}, {&a, &b}, FloatType(), "float32"}), ElementsAre(0.0F));
}

TEST(MatMul, MultipliesWideStorageExactly) {
  const Tensor a = Stored(ElementType::kInt16Q, {1, 2}, {32767, -32768}, Q({1.0F}));
  const Tensor b = Stored(ElementType::kInt16Q, {2, 1}, {32767, 32767}, Q({1.0F}));
  EXPECT_THAT(Integers({"MatMul", {}, {&a, &b}, Type(ElementType::kInt32Q, Q({1.0F}))}),
              ElementsAre(-32767));
}

}  // namespace
}  // namespace qtx::reference::testing
