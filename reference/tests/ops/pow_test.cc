// pow.S1 to pow.S5.
#include "unary_textbook.h"

namespace qtx::reference::testing::pow_test {
namespace {

using ::testing::ElementsAre;

constexpr float kInf = std::numeric_limits<float>::infinity();
const float kNan = std::numeric_limits<float>::quiet_NaN();

// x^y by MPFR at 400 bits, for finite x and y that have one.
mpq_class TextbookPower(const mpq_class& x, const mpq_class& y) {
  return TextbookValue(
      [&y](mpfr_ptr value) {
        mpfr_t exponent;
        mpfr_init2(exponent, 400);
        mpfr_set_q(exponent, y.get_mpq_t(), MPFR_RNDN);
        mpfr_pow(value, value, exponent, MPFR_RNDN);
        mpfr_clear(exponent);
      },
      x);
}

// All x of a column to all y of a row.
void ExpectPowers(const Tensor& column, const Tensor& row, const OutputType& type) {
  std::vector<mpq_class> powers;
  for (const mpq_class& x : TextbookReals(column)) {
    for (const mpq_class& y : TextbookReals(row)) {
      if (x == 0 && y < 0) {
        powers.push_back(mpq_class(mpz_class(1) << 1500));  // infinity, as far as a byte goes
      } else if (x < 0 && y.get_den() != 1) {
        powers.emplace_back(0);  // NaN
      } else {
        powers.push_back(TextbookPower(x, y));
      }
    }
  }
  EXPECT_EQ(Integers({"Pow", {}, {&column, &row}, type}),
            TextbookStored(powers, type, {column.dims[0], row.dims[1]}));
}

TEST(Pow, EqualsTheTextbookForAllBytesAndManyExponents) {
  const Tensor exponents =
      Float({1, 14}, {0, 1, 2, 3, -1, -2, 0.5F, 0.25F, 1.5F, -0.5F, 0.3F, 7, -0.125F, 100});
  for (const float scale : {1.0F, 0.25F, 0.0987654321F, 0x1p-140F, 0x1p120F}) {
    const Tensor x = AllStored(ElementType::kInt8Q, Q({scale}, {-3}), 256);
    for (const float y : {0.5F, 2.0F, 0.0123456F, 0x1p-130F}) {
      ExpectPowers(x, exponents, Int8Type(Q({y}, {0})));
    }
  }
}

TEST(Pow, EqualsTheTextbookWithAQuantizedExponent) {
  const Tensor y = AllStored(ElementType::kInt8Q, Q({0.125F}, {5}), 1);
  for (const float x : {0.5F, 3.0F, 1.0009765625F}) {
    const Tensor column = Float({3, 1}, {x, -x, 0});
    ExpectPowers(column, y, Type(ElementType::kInt16Q, Q({0x1p-9F}, {0})));
  }
}

TEST(Pow, GivesTheNearestFloat) {
  std::mt19937 engine(9);
  std::vector<float> xs, ys, expected;
  for (int i = 0; i < 3000; ++i) {
    xs.push_back(
        std::ldexp(static_cast<float>(1 + engine() % 65536), static_cast<int>(engine() % 40) - 36));
    ys.push_back(static_cast<float>(static_cast<std::int32_t>(engine() % 8192) - 4096) / 512);
    expected.push_back(TextbookFloat(TextbookPower(mpq_class(static_cast<double>(xs.back())),
                                                   mpq_class(static_cast<double>(ys.back())))));
  }
  const Tensor x = Float({3000}, xs);
  const Tensor y = Float({3000}, ys);
  EXPECT_EQ(Floats({"Pow", {}, {&x, &y}, FloatType()}), expected);
  EXPECT_EQ(Floats({"Pow", {}, {&x, &y}, FloatType(), "float32"}), expected);
}

// (1 + 2^-12)^2 = 1 + 2^-11 + 2^-24: the tie between two binary32, to the even one; one bit of x
// less or more decides otherwise.
TEST(Pow, DecidesTiesOfFloats) {
  const Tensor x = Float({4}, {1 + 0x1p-12F, 1 + 0x1p-11F + 0x1p-24F, 0x1.002p0F, 2.25F});
  const Tensor y = Float({4}, {2, 0.5F, 2, -0.5F});
  const std::vector<float> powers = Floats({"Pow", {}, {&x, &y}, FloatType()});
  EXPECT_EQ(powers[0], 1 + 0x1p-11F);
  EXPECT_EQ(powers[1], 1 + 0x1p-12F);
  EXPECT_EQ(powers[2], 0x1.004004p0F);
  EXPECT_EQ(powers[3], static_cast<float>(2.0 / 3.0));
}

// Exponents past any exact power: saturation, real zero, signs by parity.
TEST(Pow, BoundsHugeExponents) {
  const Tensor x = Float({8}, {3, 0.5F, -3, -3, -1, -1, 2, -0.5F});
  const Tensor y = Stored(ElementType::kInt64, {8},
                          {std::int64_t{1} << 62, std::int64_t{1} << 62, 1000000, 1000001, 1000000,
                           1000001, -(std::int64_t{1} << 62), 1000000001});
  for (const char* arithmetic : {"exact", "float32"}) {
    EXPECT_THAT(Integers({"Pow", {}, {&x, &y}, Int8Type(Q({0.25F}, {1})), arithmetic}),
                ElementsAre(127, 1, 127, -128, 5, -3, 1, 1));
    EXPECT_THAT(Floats({"Pow", {}, {&x, &y}, FloatType(), arithmetic}),
                ElementsAre(kInf, 0, kInf, -kInf, 1, -1, 0, 0));
  }
}

TEST(Pow, FollowsIeeeAtItsLimits) {
  const Tensor x = Float({12}, {0, 0, 0, -4, -kInf, -kInf, kNan, 1, 0.5F, -2, -1, kInf});
  const Tensor y = Float({12}, {0, 2, -1, 0.5F, 3, 2.5F, 0, kNan, -kInf, -kInf, kInf, -2});
  for (const char* arithmetic : {"exact", "float32"}) {  // NaN is the offset
    EXPECT_THAT(Integers({"Pow", {}, {&x, &y}, Int8Type(Q({0.5F}, {9})), arithmetic}),
                ElementsAre(11, 9, 127, 9, -128, 127, 11, 11, 127, 9, 11, 9));
  }
}

TEST(Pow, PassesANanOn) {
  const Tensor x = Float({4}, {kNan, 2, kNan, -2});
  const Tensor y = Float({4}, {2, kNan, kNan, 0.5F});
  for (const char* arithmetic : {"exact", "float32"}) {
    for (const float power : Floats({"Pow", {}, {&x, &y}, FloatType(), arithmetic})) {
      EXPECT_TRUE(std::isnan(power));
    }
  }
}

TEST(Pow, WrapsPlainIntegers) {
  const Tensor x = Int64({3, -3, 2, 2, 10, 0, -1, 7});
  const Tensor y = Int64({41, 3, 63, 64, -1, 0, -5, std::int64_t{1} << 62});
  const OutputType type{ElementType::kInt64, std::nullopt};
  // 3^41 = 36472996377170786403 less 2 * 2^64; the odd numbers' group has exponent 2^62.
  EXPECT_THAT(Integers({"Pow", {}, {&x, &y}, type}),
              ElementsAre(-420491770248316829, -27, std::numeric_limits<std::int64_t>::min(), 0, 0,
                          1, -1, 1));
  const Tensor huge = Float({1}, {0x1p100F});
  EXPECT_THAT(Integers({"Pow", {}, {&x, &huge}, type}), ElementsAre(1, 1, 0, 0, 0, 0, 1, 1));
}

TEST(Pow, RefusesAPlainBaseWithARealResult) {
  const Tensor x = Int64({3});
  EXPECT_THAT(ErrorOf({"Pow", {}, {&x, &x}, FloatType()}), ::testing::HasSubstr("one plain type"));
}

}  // namespace
}  // namespace qtx::reference::testing::pow_test
