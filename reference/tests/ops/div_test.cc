// div.S1 to div.S4, div.C4.
#include "unary_textbook.h"

namespace qtx::reference::testing::div_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr float kInf = std::numeric_limits<float>::infinity();

// Quotients of all pairs; the infinities and NaN of div.S3 where the divisor is 0.
Values TextbookQuotients(const Tensor& a, const Tensor& b, const OutputType& type) {
  std::vector<mpq_class> quotients;
  std::vector<int> signs;  // of the dividend, where the divisor is 0
  for (const mpq_class& left : TextbookReals(a)) {
    for (const mpq_class& right : TextbookReals(b)) {
      const bool zero = right == 0;
      signs.push_back(zero ? sgn(left) : 2);
      quotients.push_back(zero ? mpq_class(0) : mpq_class(left / right));
    }
  }
  const Dims dims = {a.dims[0], b.dims[1]};
  Values stored = TextbookStored(quotients, type, dims);
  for (std::size_t i = 0; i < stored.size(); ++i) {
    if (signs[i] == 1) stored[i] = 127;
    if (signs[i] == -1) stored[i] = -128;
  }
  return stored;
}

TEST(Div, EqualsTheTextbookOnAllPairsOfBytes) {
  const Tensor column = AllStored(ElementType::kInt8Q, Q({0.75F}, {-3}), 256);
  for (const float scale : {0.5F, 0.0987654321F}) {
    const Tensor row = AllStored(ElementType::kInt8Q, Q({scale}, {7}), 1);
    const OutputType type = Int8Type(Q({0.25F}, {1}));
    EXPECT_EQ(Integers({"Div", {}, {&column, &row}, type}), TextbookQuotients(column, row, type));
  }
}

TEST(Div, EqualsTheTextbookWithExtremeScales) {
  for (const float a : {0x1p-149F, 0x1p-126F, 0x1p127F}) {
    const Tensor column = AllStored(ElementType::kInt8Q, Q({a}), 256);
    for (const float b : {0x1.8p-149F, 0x1p127F}) {
      const Tensor row = Int8({1, 8}, {-128, -7, -1, 1, 2, 3, 90, 127}, Q({b}, {1}));
      for (const float y : {0x1p-149F, 1.0F, 0x1.fffffep127F}) {
        const OutputType type = Int8Type(Q({y}));
        ASSERT_EQ(Integers({"Div", {}, {&column, &row}, type}),
                  TextbookQuotients(column, row, type));
      }
    }
  }
}

TEST(Div, TakesEachElementsOwnScale) {
  const Tensor a = Int8({2, 2}, {9, 9, 9, 9}, Q({1.0F, 10.0F}, {0, -1}, {0}));
  const Tensor blocked = Int8({1, 4}, {1, 1, 1, 1}, Q({1.0F, 4.0F}, {}, {1}, {2}));
  const Tensor c = Float({1, 4}, {6, 7, 8, 9});
  EXPECT_THAT(Integers({"Div", {}, {&c, &blocked}, Int8Type(Q({0.25F}))}),
              ElementsAre(24, 28, 8, 9));
  const Tensor column = Int8({1, 2}, {2, 2}, Q({1.0F, 0.25F}, {}, {1}));
  EXPECT_THAT(Integers({"Div", {}, {&a, &column}, Type(ElementType::kInt16Q, Q({0.5F}))}),
              ElementsAre(9, 36, 100, 400));
}

TEST(Div, GivesTheNearestFloat) {
  std::mt19937 engine(5);
  std::vector<float> left, right, expected;
  for (int i = 0; i < 3000; ++i) {
    left.push_back(std::ldexp(static_cast<float>(engine() % 16777216),
                              static_cast<int>(engine() % 250) - 149));
    right.push_back(std::ldexp(static_cast<float>(1 + engine() % 5000),
                               static_cast<int>(engine() % 200) - 120));
    expected.push_back(TextbookFloat(mpq_class(static_cast<double>(left.back())) /
                                     mpq_class(static_cast<double>(right.back()))));
  }
  const Tensor a = Float({3000}, left);
  const Tensor b = Float({3000}, right);
  EXPECT_EQ(Floats({"Div", {}, {&a, &b}, FloatType()}), expected);
  EXPECT_EQ(Floats({"Div", {}, {&a, &b}, FloatType(), "float32"}), expected);
}

// Dividends nearest to a divisor times a number halfway between two floats: the quotient lies
// within 2^-24 of that tie, on either side or on it.
TEST(Div, GivesTheNearestFloatNextToTies) {
  std::mt19937 engine(6);
  std::vector<float> left, right, expected;
  for (int i = 0; i < 3000; ++i) {
    const auto divisor = static_cast<float>(1 + engine() % (i % 2 == 0 ? 64 : 16777215));
    const double tie = static_cast<double>(0x1000001 + 2 * (engine() % 0x800000)) * 0x1p-24;
    right.push_back(divisor);
    left.push_back(static_cast<float>(static_cast<double>(divisor) * tie));
    expected.push_back(TextbookFloat(mpq_class(static_cast<double>(left.back())) /
                                     mpq_class(static_cast<double>(divisor))));
  }
  const Tensor a = Float({3000}, left);
  const Tensor b = Float({3000}, right);
  EXPECT_EQ(Floats({"Div", {}, {&a, &b}, FloatType()}), expected);
}

TEST(Div, DecidesByTheExactQuotientOnlyNearTies) {
  const Tensor a = Int8({3}, {1, 2, 3}, Q({1.0F}));
  const Tensor b = Int8({1}, {2}, Q({1.0F}));
  OpRun run{"Div", {}, {&a, &b}, Int8Type(Q({1.0F}))};
  EXPECT_EQ(format::UnpackIntegers(*run.Run()), (Values{0, 1, 2}));
  EXPECT_EQ(run.counters.exact_fallbacks, 2U);
}

TEST(Div, FollowsIeeeForZeroAndInfinity) {
  const Tensor a = Float({6}, {1, -1, 0, kInf, 5, kInf});
  const Tensor b = Float({6}, {0, 0, 0, kInf, kInf, -2});
  for (const char* arithmetic : {"exact", "float32"}) {  // NaN is the offset
    EXPECT_THAT(Integers({"Div", {}, {&a, &b}, Int8Type(Q({1.0F}, {9})), arithmetic}),
                ElementsAre(127, -128, 9, 9, 9, -128));
  }
}

TEST(Div, TruncatesPlainIntegers) {
  const std::int64_t least = std::numeric_limits<std::int64_t>::min();
  const Tensor a = Int64({-7, 7, least, least, 9007199254740993});
  const Tensor b = Int64({2, -2, -1, 1, 1});
  EXPECT_THAT(Integers({"Div", {}, {&a, &b}, {ElementType::kInt64, std::nullopt}}),
              ElementsAre(-3, -3, least, least, 9007199254740993));
  const Tensor zero = Int64({1, 1, 0, 1, 1});
  EXPECT_THAT(ErrorOf({"Div", {}, {&a, &zero}, {ElementType::kInt64, std::nullopt}}),
              HasSubstr("input[1] 'in1': an element is 0 [div.C4]"));
}

// 1/3 is 1.0101010101|01.. * 2^-2 in FLOAT16, 1.0101010|1.. in BFLOAT16, and 2.67 at scale 1/8.
TEST(Div, RoundsToEveryKindOfOutput) {
  const Tensor a = Float({2}, {1, -1});
  const Tensor b = Float({1}, {3});
  const auto codes = [&](ElementType type) {
    const auto result = OpRun{"Div", {}, {&a, &b}, {type, std::nullopt}}.Run();
    std::vector<std::uint16_t> values(2);
    std::memcpy(values.data(), result->bytes.data(), 4);
    return values;
  };
  EXPECT_THAT(codes(ElementType::kFloat16), ElementsAre(0x3555, 0xb555));
  EXPECT_THAT(codes(ElementType::kBfloat16), ElementsAre(0x3eab, 0xbeab));
  EXPECT_THAT(Integers({"Div", {}, {&a, &b}, Type(ElementType::kInt4Q, Q({0.125F}))}),
              ElementsAre(3, -3));
  EXPECT_THAT(Integers({"Div", {}, {&a, &b}, Int8Type(Q({0.125F, 0.5F}, {1, -1}, {0}))}),
              ElementsAre(4, -2));
}

TEST(Div, RoundsADoubleOnce) {
  Tensor a = *format::MakeTensor(ElementType::kDouble, {3});
  Tensor b = a;
  const double left[] = {1, 0x1p-1074, 1e308};
  const double right[] = {3, 2, 1e-10};
  std::memcpy(a.bytes.data(), left, sizeof left);
  std::memcpy(b.bytes.data(), right, sizeof right);
  const auto result = OpRun{"Div", {}, {&a, &b}, {ElementType::kDouble, std::nullopt}}.Run();
  ASSERT_TRUE(result.has_value());
  const auto values = result->As<double>();
  EXPECT_EQ(values[0], 1.0 / 3.0);
  EXPECT_EQ(values[1], 0.0);
  EXPECT_EQ(values[2], std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace qtx::reference::testing::div_test
