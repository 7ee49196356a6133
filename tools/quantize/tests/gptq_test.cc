// Expectations by hand, from algorithm 1 of arXiv:2210.17323.
#include "gptq.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "weights.h"

namespace qtx::quantize::gptq_test {
namespace {

using format::ElementType;
using format::Tensor;
using testing::HasSubstr;

// The diagonal 99 and 99 has mean 99, so that damping adds 0.99. Of [[a, b], [b, a]] the inverse is
// [[a, -b], [-b, a]] / d, d = a^2 - b^2, and U = [[sqrt(a / d), -b / sqrt(a d)], [0, 1 / sqrt(a)]].
TEST(InverseFactor, IsTheUpperFactorOfTheInverse) {
  const auto u = InverseFactor({2, {99, 40, 99}});
  ASSERT_TRUE(u.has_value());
  const double a = 99.99, b = 40, d = a * a - b * b;
  const std::vector<double> expected = {std::sqrt(a / d), -b / std::sqrt(a * d), 0,
                                        1 / std::sqrt(a)};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR((*u)[i], expected[i], 1e-15) << i;
}

TEST(InverseFactor, RefusesWhatIsNoGram) {
  const auto below = InverseFactor({2, {-1, 0, 1}});
  ASSERT_FALSE(below.has_value());
  EXPECT_THAT(below.error().message, HasSubstr("no negative eigenvalue"));
  EXPECT_FALSE(InverseFactor({2, {1, 2, 1}}).has_value());  // eigenvalues 3 and -1
  EXPECT_FALSE(InverseFactor({2, {1, 0, std::nan("")}}).has_value());
}

// One input, X = 2 Y: H = 400, its damping 4, X^T Y = 200: W' = (200 + 4) / (400 + 4) W.
TEST(Retarget, MakesUpForInputsThatHaveChanged) {
  std::vector<double> weights = {404, -101};
  ASSERT_TRUE(Retarget({1, {400}, {200}}, weights).has_value());
  EXPECT_NEAR(weights[0], 204, 1e-10);
  EXPECT_NEAR(weights[1], -51, 1e-10);
}

// Two inputs that have changed places: X^T X = [[a, b], [b, c]], and X^T Y has its columns changed.
TEST(Retarget, SolvesWhatItsFormulaSays) {
  const double a = 60, b = 20, c = 140, d = 1;  // 1 % of the mean of a and c
  std::vector<double> weights = {3, 5, -2, 7};
  ASSERT_TRUE(Retarget({2, {a, b, c}, {b, a, c, b}}, weights).has_value());
  const double right[] = {(b + d) * 3 + a * -2, (b + d) * 5 + a * 7, c * 3 + (b + d) * -2,
                          c * 5 + (b + d) * 7};
  EXPECT_NEAR((a + d) * weights[0] + b * weights[2], right[0], 1e-10);
  EXPECT_NEAR((a + d) * weights[1] + b * weights[3], right[1], 1e-10);
  EXPECT_NEAR(b * weights[0] + (c + d) * weights[2], right[2], 1e-10);
  EXPECT_NEAR(b * weights[1] + (c + d) * weights[3], right[3], 1e-10);
}

TEST(Retarget, LeavesWhatReadsTheSame) {
  std::vector<double> weights = {3, 5, -2, 7};
  ASSERT_TRUE(Retarget({2, {60, 20, 140}, {60, 20, 20, 140}}, weights).has_value());
  EXPECT_NEAR(weights[0], 3, 1e-12);
  EXPECT_NEAR(weights[3], 7, 1e-12);
}

// Column [0.4, 0.4, 7] of scale 1. The inputs of rows 0 and 1 are nearly equal, row 2 has none: 0.4
// becomes 0, and of its error row 1 takes b / a = 99 / 100.667 = 0.983 (U[0, 1] / U[0, 0] = -b / a;
// the mean of the diagonal is 66.7): 0.4 + 0.4 * 0.983 = 0.793 becomes 1, so that the sum is 1
// where 0.8 was, and 0 if rounded alone.
TEST(StoreWeights, MakesUpForErrorsInTheNextRow) {
  const Gram gram{3, {100, 99, 0, 100, 0, 0}};
  for (const bool transposed : {false, true}) {
    Tensor w = *format::MakeTensor(ElementType::kFloat,
                                   transposed ? format::Dims{1, 3} : format::Dims{3, 1});
    const std::vector<float> values = {0.4F, 0.4F, 7};
    std::ranges::copy(values, w.As<float>().begin());
    for (const char* text : {"int4", "int4:block=3", "int4:per-tensor", "int4:block=32"}) {
      Settings settings;
      settings.weights = *ParseWeights(text);
      const WeightAxes axes{.output = transposed ? 0 : 1, .reduced = transposed ? 1 : 0};
      const auto near = StoreWeights(w, settings, axes, {});
      const auto gptq = StoreWeights(w, settings, axes, {}, {&gram});
      ASSERT_TRUE(near.has_value() && gptq.has_value());
      EXPECT_EQ(format::UnpackInt32(near->tensor), (std::vector<std::int32_t>{0, 0, 7})) << text;
      EXPECT_EQ(format::UnpackInt32(gptq->tensor), (std::vector<std::int32_t>{0, 1, 7})) << text;
      EXPECT_EQ(gptq->tensor.quantization->scale, std::vector<float>{1}) << text;
    }
  }
}

// The same column as a filter of each of two groups, whose second has inputs without correlation.
TEST(StoreWeights, RoundsEachGroupOfAConvByItsOwnSums) {
  const Gram gram{3, {100, 99, 0, 100, 0, 0, 100, 0, 0, 100, 0, 0}};
  Tensor w = *format::MakeTensor(ElementType::kFloat, {2, 1, 3, 1});
  const std::vector<float> values = {0.4F, 0.4F, 7, 0.4F, 0.4F, 7};
  std::ranges::copy(values, w.As<float>().begin());
  for (const char* text : {"int4", "int4:per-tensor", "int4:block=32"}) {
    Settings settings;
    settings.weights = *ParseWeights(text);
    const auto stored = StoreWeights(w, settings, {.output = 0, .reduced = 1}, {}, {&gram});
    ASSERT_TRUE(stored.has_value());
    EXPECT_EQ(format::UnpackInt32(stored->tensor), (std::vector<std::int32_t>{0, 1, 7, 0, 0, 7}))
        << text;
  }
}

TEST(ByDiagonal, PutsTheGreatestFirstAndEqualOnesInOrder) {
  EXPECT_EQ(ByDiagonal({3, {2, 9, 9, 5, 9, 2}}), (std::vector<std::size_t>{1, 0, 2}));
}

// Damping adds 1 % of the mean diagonal, 100, so that a is 101 and 201. As they are, row 0 becomes
// 0 and row 1 0.4 + 0.4 * 99 / 201 = 0.597, so 1; by the diagonal row 1 becomes 0, and row 0 0.4 +
// 0.4 * 99 / 101 = 0.79, so 1.
TEST(StoreWeights, RoundsTheRowOfTheLargestInputsFirst) {
  const Gram gram{3, {100, 99, 0, 200, 0, 0}};
  Tensor w = *format::MakeTensor(ElementType::kFloat, {3, 1});
  std::ranges::copy(std::vector<float>{0.4F, 0.4F, 7}, w.As<float>().begin());
  for (const char* text : {"int4", "int4:block=3"}) {
    Settings settings;
    settings.weights = *ParseWeights(text);
    const WeightAxes axes{.output = 1, .reduced = 0};
    const auto as_they_are = StoreWeights(w, settings, axes, {}, {&gram});
    const auto ordered = StoreWeights(w, settings, axes, {}, {&gram, false, true});
    ASSERT_TRUE(as_they_are.has_value() && ordered.has_value());
    EXPECT_EQ(format::UnpackInt32(as_they_are->tensor), (std::vector<std::int32_t>{0, 1, 7}));
    EXPECT_EQ(format::UnpackInt32(ordered->tensor), (std::vector<std::int32_t>{1, 0, 7})) << text;
  }
}

// Row 0 gives 0.4 * 99 / 100.5 to row 3, in the next block: 7.39, a scale of 1.06 by turns. Blocks
// without turns have the scales of the weights as they were.
TEST(StoreWeights, KeepsTheScalesOfBlocksWhereRowsHaveAnotherOrder) {
  const Gram gram{4, {100, 0, 0, 99, 0, 0, 0, 0, 0, 100}};
  Tensor w = *format::MakeTensor(ElementType::kFloat, {4, 1});
  std::ranges::copy(std::vector<float>{0.4F, 7, 7, 7}, w.As<float>().begin());
  Settings settings;
  settings.weights = *ParseWeights("int4:block=2");
  const WeightAxes axes{.output = 1, .reduced = 0};
  const auto by_turns = StoreWeights(w, settings, axes, {}, {&gram});
  const auto ordered = StoreWeights(w, settings, axes, {}, {&gram, false, true});
  ASSERT_TRUE(by_turns.has_value() && ordered.has_value());
  EXPECT_NEAR(by_turns->tensor.quantization->scale[1], (7 + 0.4 * 99 / 100.5) / 7, 1e-6);
  EXPECT_EQ(ordered->tensor.quantization->scale, (std::vector<float>{1, 1}));
  EXPECT_EQ(format::UnpackInt32(ordered->tensor), (std::vector<std::int32_t>{0, 7, 7, 7}));
}

TEST(StoreWeights, RoundsRowsWithoutCorrelationToNearest) {
  Tensor w = *format::MakeTensor(ElementType::kFloat, {3, 2});
  const std::vector<float> values = {0.4F, -2.6F, 0.6F, 1.5F, 7, -7};
  std::ranges::copy(values, w.As<float>().begin());
  Settings settings;
  settings.weights = *ParseWeights("int4");
  const Gram gram{3, {5, 0, 0, 0, 0, 2}};
  const auto stored = StoreWeights(w, settings, {.output = 1, .reduced = 0}, {}, {&gram});
  ASSERT_TRUE(stored.has_value());
  EXPECT_EQ(format::UnpackInt32(stored->tensor), (std::vector<std::int32_t>{0, -3, 1, 2, 7, -7}));
}

}  // namespace
}  // namespace qtx::quantize::gptq_test
