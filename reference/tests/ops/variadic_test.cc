// Max, Mean, Min and Sum: max.S1 to max.S3, mean.S1 to mean.S3, min.S1, sum.S1 to sum.S3.
#include "unary_textbook.h"

namespace qtx::reference::testing::variadic_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

mpq_class Textbook(const std::string& op, const std::vector<mpq_class>& values) {
  mpq_class result = values[0];
  for (std::size_t i = 1; i < values.size(); ++i) {
    if (op == "Max" && values[i] > result) result = values[i];
    if (op == "Min" && values[i] < result) result = values[i];
    if (op == "Sum" || op == "Mean") result += values[i];
  }
  if (op == "Mean") result /= static_cast<long>(values.size());
  return result;
}

// Inputs of shapes [2, 1, 4], [3, 1] and so on, in turn; all have the coordinates of [2, 3, 4].
std::vector<mpq_class> Results(const std::string& op, const std::vector<Tensor>& inputs) {
  std::vector<std::vector<mpq_class>> reals;
  for (const Tensor& input : inputs) reals.push_back(TextbookReals(input));
  std::vector<mpq_class> results;
  for (std::int64_t i = 0; i < 2; ++i)
    for (std::int64_t j = 0; j < 3; ++j)
      for (std::int64_t k = 0; k < 4; ++k) {
        std::vector<mpq_class> values;
        for (std::size_t t = 0; t < inputs.size(); ++t) {
          const std::int64_t at[] = {i, j, k};
          std::int64_t index = 0;
          const Dims& dims = inputs[t].dims;
          for (std::size_t a = 0; a < dims.size(); ++a) {
            index = index * dims[a] + (dims[a] == 1 ? 0 : at[3 - dims.size() + a]);
          }
          values.push_back(reals[t][static_cast<std::size_t>(index)]);
        }
        results.push_back(Textbook(op, values));
      }
  return results;
}

TEST(Variadic, EqualsTheTextbookOnRandomTensors) {
  Random random(41);
  const Dims shapes[] = {{2, 1, 4}, {3, 1}, {2, 3, 4}, {}, {1, 1, 1}, {4}};
  for (int round = 0; round < 120; ++round) {
    std::vector<Tensor> inputs;
    const std::int64_t count = random.In(3, 6);
    for (std::int64_t i = 0; i < count; ++i) {
      const Dims& dims = shapes[i];
      const bool per_axis = dims.size() == 3 && random.In(0, 1) == 1;
      inputs.push_back(
          random.Tensor8(dims, per_axis ? random.PerAxis(2, dims[2]) : random.PerTensor()));
    }
    std::vector<const Tensor*> pointers;
    for (const Tensor& input : inputs) pointers.push_back(&input);
    for (const char* op : {"Max", "Mean", "Min", "Sum"}) {
      const std::vector<mpq_class> reals = Results(op, inputs);
      const OutputType type = Int8Type(Q({random.Scale()}, {-2}));
      ASSERT_EQ(Integers({op, {}, pointers, type}), TextbookStored(reals, type, {2, 3, 4})) << op;
      std::vector<float> floats;
      for (const mpq_class& real : reals) floats.push_back(TextbookFloat(real));
      ASSERT_EQ(Floats({op, {}, pointers, FloatType()}), floats) << op;
    }
  }
}

TEST(Variadic, EqualsTheTextbookWithExtremeScales) {
  for (const float scale : {0x1p-149F, 0x1p-126F, 0x1p127F}) {
    const Tensor a = AllStored(ElementType::kInt8Q, Q({scale}, {3}));
    const Tensor b = AllStored(ElementType::kInt8Q, Q({scale * 0.75F}, {-3}));
    const Tensor c = Int8({1}, {7}, Q({1.0F}));
    const std::vector<mpq_class> as = TextbookReals(a), bs = TextbookReals(b);
    for (const char* op : {"Max", "Mean", "Min", "Sum"}) {
      std::vector<mpq_class> reals;
      for (std::size_t i = 0; i < 256; ++i) {
        reals.push_back(Textbook(op, {as[i], bs[i], 7}));
      }
      for (const float y : {0x1p-149F, 1.0F, 0x1.fffffep127F}) {
        const OutputType type = Int8Type(Q({y}));
        ASSERT_EQ(Integers({op, {}, {&a, &b, &c}, type}), TextbookStored(reals, type, {1, 256}));
      }
    }
  }
}

// Magnitudes from 2^-60 to 2^60, and terms that cancel but for one: sums that binary64 gets wrong.
TEST(Variadic, GivesTheNearestFloatOfSumsThatCancel) {
  std::mt19937 engine(42);
  const auto random = [&engine] {
    const auto value = static_cast<float>(static_cast<std::int32_t>(engine()));
    return std::ldexp(value, static_cast<int>(engine() % 91) - 60);
  };
  constexpr std::size_t kCount = 2000;
  std::vector<std::vector<float>> columns(6, std::vector<float>(kCount));
  for (std::size_t i = 0; i < kCount; ++i) {
    for (auto& column : columns) column[i] = random();
    if (i % 2 == 0) columns[3][i] = -columns[0][i];
    if (i % 4 == 0) columns[5][i] = -columns[1][i];
  }
  std::vector<Tensor> inputs;
  for (const auto& column : columns) inputs.push_back(Float({kCount}, column));
  std::vector<const Tensor*> pointers;
  for (const Tensor& input : inputs) pointers.push_back(&input);
  for (const char* op : {"Sum", "Mean", "Max", "Min"}) {
    std::vector<float> expected;
    for (std::size_t i = 0; i < kCount; ++i) {
      std::vector<mpq_class> values;
      for (const auto& column : columns) values.emplace_back(static_cast<double>(column[i]));
      expected.push_back(TextbookFloat(Textbook(op, values)));
    }
    OpRun run{op, {}, pointers, FloatType()};
    EXPECT_EQ(Floats(run), expected) << op;
  }
}

TEST(Variadic, TakesOneInput) {
  const Tensor x = Int8({2}, {6, -4}, Q({1.0F}, {1}));
  for (const char* op : {"Max", "Mean", "Min", "Sum"}) {
    for (const char* arithmetic : {"exact", "float32"}) {  // 2.5 and -2.5, to even, plus 3
      EXPECT_THAT(Integers({op, {}, {&x}, Int8Type(Q({2.0F}, {3})), arithmetic}),
                  ElementsAre(5, 1));
    }
  }
}

TEST(Max, ComparesPlainIntegers) {
  const OutputType type{ElementType::kInt32, std::nullopt};
  const Tensor a = Stored(ElementType::kInt32, {2}, {2147483647, -5});
  const Tensor b = Stored(ElementType::kInt32, {2}, {1, 2});
  EXPECT_THAT(Integers({"Max", {}, {&a, &b}, type}), ElementsAre(2147483647, 2));
  EXPECT_THAT(Integers({"Min", {}, {&a, &b}, type}), ElementsAre(1, -5));
}

TEST(Variadic, RefusesShapesThatDoNotBroadcast) {
  const Tensor a = Float({2}, {1, 2});
  const Tensor b = Float({3}, {1, 2, 3});
  EXPECT_THAT(ErrorOf({"Max", {}, {&a, &a, &b}, FloatType()}), HasSubstr("input[2] 'in2'"));
}

TEST(Variadic, RefusesAnInputThatIsLeftOut) {
  const Tensor a = Float({2}, {1, 2});
  EXPECT_THAT(ErrorOf({"Max", {}, {&a, nullptr}, FloatType()}), HasSubstr("input[1]"));
}

TEST(Max, PassesANanOnFromAnyInput) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor a = Float({3}, {nan, 1, 2});
  const Tensor b = Float({3}, {1, nan, 3});
  for (const char* op : {"Max", "Min"}) {
    for (const char* arithmetic : {"exact", "float32"}) {
      const auto values = Floats({op, {}, {&a, &b}, FloatType(), arithmetic});
      EXPECT_TRUE(std::isnan(values[0]) && std::isnan(values[1]) && !std::isnan(values[2])) << op;
    }
  }
}

}  // namespace
}  // namespace qtx::reference::testing::variadic_test
