// average_pool.S1 to .S4, global_average_pool.S1, max_pool.S1 to .S3, tflite.S7.
#include <algorithm>
#include <tuple>

#include "../run_op.h"

namespace qtx::reference::testing::pool_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Attribute Kernel(std::vector<std::int64_t> size) {
  return Attribute::Ints("kernel_shape", std::move(size));
}

// 10/4 = 2.5 and -2.5 are ties: even 2 and -2, away 3 and -3; 15/4 = 3.75.
TEST(AveragePool, RoundsTiesByTheArithmetic) {
  const Tensor x = Int8({1, 1, 12}, {2, 2, 3, 3, -2, -2, -3, -3, 4, 4, 4, 3}, Q({1.0F}));
  const std::vector<Attribute> attributes = {Kernel({4}), Attribute::Ints("strides", {4})};
  const OutputType type = Int8Type(Q({1.0F}));
  EXPECT_THAT(Integers({"AveragePool", attributes, {&x}, type}), ElementsAre(2, -2, 4));
  EXPECT_THAT(Integers({"AveragePool", attributes, {&x}, type, "float32"}), ElementsAre(2, -2, 4));
  EXPECT_THAT(Integers({"AveragePool", attributes, {&x}, type, "tflite"}), ElementsAre(3, -3, 4));
}

// tflite.S7 averages stored values: with offset 1 stored 3 4 is 3.5 away 4, while the reals 2 3
// have the mean 2.5, to even 2, stored 3.
TEST(AveragePool, AveragesStoredValuesInTflite) {
  const Tensor x = Int8({1, 1, 2}, {3, 4}, Q({1.0F}, {1}));
  const OutputType type = Int8Type(Q({1.0F}, {1}));
  EXPECT_THAT(Integers({"AveragePool", {Kernel({2})}, {&x}, type, "tflite"}), ElementsAre(4));
  EXPECT_THAT(Integers({"AveragePool", {Kernel({2})}, {&x}, type}), ElementsAre(3));
}

TEST(AveragePool, CountsPaddingOnlyWhenAsked) {
  const Tensor x = Int8({1, 1, 2}, {6, 12}, Q({1.0F}));
  std::vector<Attribute> attributes = {Kernel({2}), Attribute::Ints("pads", {1, 1})};
  const OutputType type = Int8Type(Q({1.0F}));
  EXPECT_THAT(Integers({"AveragePool", attributes, {&x}, type}), ElementsAre(6, 9, 12));
  attributes.push_back(Attribute::Int("count_include_pad", 1));
  EXPECT_THAT(Integers({"AveragePool", attributes, {&x}, type}), ElementsAre(3, 9, 6));
}

// Size 5, kernel 2, stride 2: the last window holds one element and one place beyond the padding.
TEST(AveragePool, NeverCountsWhatCeilModeAdds) {
  const Tensor x = Int8({1, 1, 5}, {1, 3, 5, 7, 9}, Q({1.0F}));
  const std::vector<Attribute> attributes = {Kernel({2}), Attribute::Ints("strides", {2}),
                                             Attribute::Int("ceil_mode", 1),
                                             Attribute::Int("count_include_pad", 1)};
  EXPECT_THAT(Integers({"AveragePool", attributes, {&x}, Int8Type(Q({1.0F}))}),
              ElementsAre(2, 6, 9));
}

// Size 2 with one end pad, kernel 1, stride 3: the second window would begin in the padding.
TEST(AveragePool, DropsAWindowThatBeginsInThePadding) {
  const Tensor x = Int8({1, 1, 3}, {1, 2, 3}, Q({1.0F}));
  const std::vector<Attribute> attributes = {Kernel({2}), Attribute::Ints("strides", {3}),
                                             Attribute::Ints("pads", {0, 1}),
                                             Attribute::Int("ceil_mode", 1)};
  EXPECT_THAT(Integers({"AveragePool", attributes, {&x}, Int8Type(Q({0.5F}))}), ElementsAre(3));
}

TEST(AveragePool, EqualsTheTextbookOnRandomWindows) {
  Random random(21);
  for (int round = 0; round < 40; ++round) {
    const std::int64_t size = random.In(4, 12), kernel = random.In(1, 4), stride = random.In(1, 3);
    const std::int64_t begin = random.In(0, kernel - 1), end = random.In(0, kernel - 1);
    const bool padded = round % 2 == 0;
    const bool per_axis = round % 3 == 0;
    const Tensor x =
        random.Tensor8({1, 2, size}, per_axis ? random.PerAxis(1, 2) : random.PerTensor());
    const auto reals = TextbookReals(x);
    const std::int64_t outputs = (size + begin + end - kernel) / stride + 1;
    std::vector<mpq_class> means;
    for (std::int64_t c = 0; c < 2; ++c)
      for (std::int64_t o = 0; o < outputs; ++o) {
        mpq_class sum = 0;
        int inside = 0;
        for (std::int64_t k = 0; k < kernel; ++k) {
          const std::int64_t at = o * stride + k - begin;
          if (at < 0 || at >= size) continue;
          ++inside;
          sum += reals[static_cast<std::size_t>(c * size + at)];
        }
        means.push_back(sum / mpq_class(padded ? static_cast<long>(kernel) : inside));
      }
    const OutputType type = Int8Type(Q({random.Scale()}, {2}));
    EXPECT_EQ(Integers({"AveragePool",
                        {Kernel({kernel}), Attribute::Ints("strides", {stride}),
                         Attribute::Ints("pads", {begin, end}),
                         Attribute::Int("count_include_pad", padded ? 1 : 0)},
                        {&x},
                        type}),
              TextbookStored(means, type, {1, 2, outputs}));
  }
}

// 8/3 at scale 1/4 is 32/3 = 10.67.
TEST(GlobalAveragePool, DividesExactlyByThree) {
  const Tensor x = Int8({1, 1, 1, 3}, {2, 2, 4}, Q({1.0F}));
  OpRun run{"GlobalAveragePool", {}, {&x}, Int8Type(Q({0.25F}))};
  EXPECT_EQ(run.Run()->dims, (Dims{1, 1, 1, 1}));
  EXPECT_THAT(Integers(run), ElementsAre(11));
}

TEST(GlobalAveragePool, DoesNotMixPlanes) {
  const Tensor x = Int8({2, 2, 2}, {0, 2, 10, 12, 20, 22, 30, 32}, Q({1.0F}));
  for (const char* arithmetic : {"exact", "float32", "tflite"}) {
    EXPECT_THAT(Integers({"GlobalAveragePool", {}, {&x}, Int8Type(Q({1.0F})), arithmetic}),
                ElementsAre(1, 11, 21, 31));
  }
}

TEST(MaxPool, PaddingNeverWins) {
  const Tensor x = Int8({1, 1, 1, 2}, {-9, -7}, Q({0.5F}, {3}));
  for (const char* arithmetic : {"exact", "float32", "tflite"}) {
    EXPECT_THAT(Integers({"MaxPool",
                          {Kernel({1, 2}), Attribute::Ints("pads", {0, 1, 0, 1})},
                          {&x},
                          Int8Type(Q({0.5F}, {3})),
                          arithmetic}),
                ElementsAre(-9, -7, -7));
  }
}

// 3 at scale 1 is more than 20 at scale 1/8 = 2.5, which is the greater stored value.
TEST(MaxPool, ComparesRealsNotStoredValues) {
  const Tensor x = Int8({1, 1, 2}, {3, 20}, Q({1.0F, 0.125F}, {}, {2}));
  EXPECT_THAT(Integers({"MaxPool", {Kernel({2})}, {&x}, Int8Type(Q({0.5F}))}), ElementsAre(6));
}

TEST(MaxPool, DilatesItsWindow) {
  const Tensor x = Int8({1, 1, 5}, {1, 9, 2, 8, 3}, Q({1.0F}));
  EXPECT_THAT(
      Integers(
          {"MaxPool", {Kernel({2}), Attribute::Ints("dilations", {2})}, {&x}, Int8Type(Q({1.0F}))}),
      ElementsAre(2, 9, 3));
}

TEST(MaxPool, PassesANanOn) {
  const Tensor x = Float({1, 1, 2}, {1.0F, std::numeric_limits<float>::quiet_NaN()});
  EXPECT_THAT(Integers({"MaxPool", {Kernel({2})}, {&x}, Int8Type(Q({1.0F}, {4}))}), ElementsAre(4));
}

TEST(MaxPool, SurvivesAHugeKernel) {
  const Tensor x = Int8({1, 1, 2}, {1, 2}, Q({1.0F}));
  EXPECT_THAT(ErrorOf({"MaxPool", {Kernel({2000000000})}, {&x}, Int8Type(Q({1.0F}))}),
              HasSubstr("[max_pool.C6]"));
  EXPECT_THAT(Integers({"MaxPool",
                        {Kernel({2000000000}), Attribute::Ints("pads", {1999999999, 0})},
                        {&x},
                        Int8Type(Q({1.0F}))}),
              ElementsAre(1, 2));
  EXPECT_THAT(
      ErrorOf(
          {"MaxPool", {Kernel({2}), Attribute::Ints("pads", {2, 0})}, {&x}, Int8Type(Q({1.0F}))}),
      HasSubstr("expected less than the kernel's 2"));
}

// The window of every result searched again, coordinate by coordinate.
TEST(MaxPool, NamesTheFirstOfTheGreatest) {
  Random random(71);
  const Tensor x = random.Tensor8({2, 3, 4, 5}, random.PerTensor());
  const Values stored = format::UnpackIntegers(x);
  for (const std::int64_t order : {0, 1}) {
    format::Node node;
    node.op_type = "MaxPool";
    node.inputs = {"x"};
    node.outputs = {"y", "indices"};
    node.attributes = {Kernel({2, 3}), Attribute::Ints("pads", {1, 0, 0, 1}),
                       Attribute::Int("storage_order", order)};
    const std::vector<const Tensor*> inputs = {&x};
    const OutputType types[] = {Int8Type(*x.quantization), {ElementType::kInt64, std::nullopt}};
    Counters counters;
    const Call call{.node = node,
                    .arithmetic = **FindArithmetic("exact"),
                    .opset = 17,
                    .inputs = inputs,
                    .outputs = types,
                    .counters = &counters};
    const auto results = RunOperator(*FindOperator("", "MaxPool"), call);
    ASSERT_TRUE(results.has_value());
    Values expected;
    for (std::int64_t plane = 0; plane < 6; ++plane) {
      for (std::int64_t i = 0; i < 16; ++i) {  // rows i / 4 - 1 and the next, columns i % 4 to + 2
        std::int64_t row = -1, column = -1, best = -1000;
        for (std::int64_t r = std::max<std::int64_t>(0, i / 4 - 1); r < i / 4 + 1; ++r) {
          for (std::int64_t c = i % 4; c < std::min<std::int64_t>(5, i % 4 + 3); ++c) {
            const std::int64_t value = stored[static_cast<std::size_t>(plane * 20 + r * 5 + c)];
            if (value > best) std::tie(best, row, column) = std::tuple(value, r, c);
          }
        }
        expected.push_back(plane * 20 + (order == 1 ? row + column * 4 : row * 5 + column));
      }
    }
    EXPECT_EQ(format::UnpackIntegers((*results)[1]), expected);
  }
}

}  // namespace
}  // namespace qtx::reference::testing::pool_test
