// Comparisons against GMP rationals and against C++'s comparisons of binary32; And, Or and Not by
// their tables.  Source: equal.S1 to equal.S3, and.S1, or.S1, not.S1.
#include <functional>

#include "unary_textbook.h"

namespace qtx::reference::testing::condition_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const OutputType kBool = {ElementType::kBool, std::nullopt};
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

template <typename T>
struct Row {
  const char* op;
  std::function<bool(const T&, const T&)> holds;
};

template <typename T>
std::vector<Row<T>> Comparisons() {
  return {{"Equal", std::equal_to<T>()},
          {"Greater", std::greater<T>()},
          {"Less", std::less<T>()},
          {"GreaterOrEqual", std::greater_equal<T>()},
          {"LessOrEqual", std::less_equal<T>()}};
}

// All pairs of stored values; half of the scales are equal, so that many reals are.
TEST(Comparisons, AreThoseOfExactReals) {
  Random random(31);
  for (int round = 0; round < 20; ++round) {
    const Quantization p = random.PerTensor();
    const Tensor a = AllStored(ElementType::kInt8Q, p, 256);
    const Tensor b = AllStored(ElementType::kInt8Q, round % 2 == 0 ? p : random.PerTensor());
    const std::vector<mpq_class> as = TextbookReals(a);
    const std::vector<mpq_class> bs = TextbookReals(b);
    for (const auto& [op, holds] : Comparisons<mpq_class>()) {
      Values expected;
      for (const mpq_class& x : as) {
        for (const mpq_class& y : bs) expected.push_back(holds(x, y) ? 1 : 0);
      }
      ASSERT_EQ(Integers({op, {}, {&a, &b}, kBool}), expected) << op;
      ASSERT_EQ(Integers({op, {}, {&a, &b}, kBool, "tflite"}), expected) << op;
    }
  }
}

// 0.1 * 3 and 0.3 are one binary32, and two reals.
TEST(Comparisons, InBinary32AreThoseOfDequantizedValues) {
  const Tensor a = Int8({4}, {3, -3, 6, 1}, Q({0.1F}));
  const Tensor b = Float({4}, {0.3F, -0.3F, 0.6F, kNan});
  for (const auto& [op, holds] : Comparisons<float>()) {
    Values expected;
    for (std::size_t i = 0; i < 4; ++i) {
      const float x = static_cast<float>(a.As<std::int8_t>()[i]) * 0.1F;
      expected.push_back(holds(x, b.As<float>()[i]) ? 1 : 0);
    }
    EXPECT_EQ(Integers({op, {}, {&a, &b}, kBool, "float32"}), expected) << op;
  }
  EXPECT_THAT(Integers({"Equal", {}, {&a, &b}, kBool}), ElementsAre(0, 0, 0, 0));
}

TEST(Comparisons, OrderUnsignedIntegersOf64Bits) {
  const Tensor a = Stored(ElementType::kUint64, {3}, {-1, 0, 7});
  const Tensor b = Stored(ElementType::kUint64, {3}, {0, -1, 7});
  EXPECT_THAT(Integers({"Greater", {}, {&a, &b}, kBool}), ElementsAre(1, 0, 0));
  EXPECT_THAT(Integers({"LessOrEqual", {}, {&a, &b}, kBool}), ElementsAre(0, 1, 1));
}

TEST(Comparisons, DeclineStrings) {
  const Tensor text = {.elem_type = ElementType::kString, .dims = {0}};
  EXPECT_THAT(ErrorOf({"Equal", {}, {&text, &text}, kBool}), HasSubstr("STRING"));
}

TEST(Conditions, HaveTheirTables) {
  const Tensor a = Stored(ElementType::kBool, {2, 1}, {0, 1});
  const Tensor b = Stored(ElementType::kBool, {2}, {0, 1});
  EXPECT_THAT(Integers({"And", {}, {&a, &b}, kBool}), ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(Integers({"Or", {}, {&a, &b}, kBool}), ElementsAre(0, 1, 1, 1));
  EXPECT_THAT(Integers({"Not", {}, {&b}, kBool}), ElementsAre(1, 0));
}

}  // namespace
}  // namespace qtx::reference::testing::condition_test
