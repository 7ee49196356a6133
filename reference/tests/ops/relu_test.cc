// relu.S1, relu.S2, clip.S1 to clip.S3, tflite.S9.
#include "../run_op.h"

namespace qtx::reference::testing {
namespace {

using ::testing::ElementsAre;

TEST(Relu, BoundsAtTheOffset) {
  const Tensor x = Int8({4}, {-4, 5, 10, 12}, Q({1.0F}, {10}));
  for (const char* arithmetic : {"exact", "float32", "tflite"}) {
    EXPECT_THAT(Integers({"Relu", {}, {&x}, Int8Type(Q({1.0F}, {10})), arithmetic}),
                ElementsAre(10, 10, 10, 12));
  }
}

TEST(Relu, EqualsTheTextbookWithOtherParameters) {
  Random random(51);
  Values all;
  for (std::int64_t v = -128; v <= 127; ++v) all.push_back(v);
  for (int round = 0; round < 40; ++round) {
    const Tensor x = Int8({256}, all, random.PerTensor());
    std::vector<mpq_class> reals = TextbookReals(x);
    for (mpq_class& real : reals) {
      if (real < 0) real = 0;
    }
    const OutputType type = Int8Type(Q({random.Scale()}, {-100}));
    EXPECT_EQ(Integers({"Relu", {}, {&x}, type}), TextbookStored(reals, type, {256}));
  }
}

// Reals -14 -10 0 25: clipped to 0 and 6, doubled, minus 10.
TEST(Clip, BoundsAreReals) {
  const Tensor x = Int8({4}, {-30, -10, 0, 40}, Q({0.5F}, {-10}));
  const Tensor low = Float({}, {0.0F});
  const Tensor high = Float({}, {6.0F});
  for (const char* arithmetic : {"exact", "float32", "tflite"}) {
    EXPECT_THAT(Integers({"Clip", {}, {&x, &low, &high}, Int8Type(Q({0.5F}, {-10})), arithmetic}),
                ElementsAre(-10, -10, 0, 2));
  }
}

TEST(Clip, AppliesTheBoundBeforeTheOneRounding) {
  const Tensor x = Int8({2}, {9, 1}, Q({1.0F}));
  const Tensor high = Float({}, {2.6F});  // between two stored values: the nearer, 3
  EXPECT_THAT(Integers({"Clip", {}, {&x, nullptr, &high}, Int8Type(Q({1.0F}))}), ElementsAre(3, 1));
  const Tensor low = Float({}, {5.0F});  // above max: max wins
  EXPECT_THAT(Integers({"Clip", {}, {&x, &low, &high}, Int8Type(Q({1.0F}))}), ElementsAre(3, 3));
}

TEST(Clip, RescalesRelu6InFixedPointInTflite) {
  const Tensor x = Int8({3}, {-1, 1, 100}, Q({1.0F}));
  const Tensor low = Float({}, {0.0F});
  const Tensor high = Float({}, {6.0F});
  OpRun run{"Clip", {}, {&x, &low, &high}, Int8Type(Q({4.0F})), "tflite", "RELU6"};
  EXPECT_THAT(Integers(run), ElementsAre(0, 1, 2));  // 1/4 twice rounded; 6/4 = 1.5
  run.tflite_kernel = "";
  EXPECT_THAT(Integers(run), ElementsAre(0, 0, 2));  // no kernel: exact
}

}  // namespace
}  // namespace qtx::reference::testing
