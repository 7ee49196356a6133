// ReduceProd and CumProd against products of GMP rationals: reduce_prod.S1, cum_prod.S1.
#include <algorithm>
#include <map>

#include "moving.h"
#include "unary_textbook.h"

namespace qtx::reference::testing::product_test {
namespace {

using ::testing::ElementsAre;

OpRun Running(const Tensor& x, const Tensor& axis, const OutputType& type) {
  OpRun run{"CumProd", {}, {&x, &axis}, type};
  run.opset = 26;
  return run;
}

TEST(CumProd, MultipliesTheExactReals) {
  Random random(71);
  for (int round = 0; round < 100; ++round) {
    const Dims dims = {random.In(1, 4), random.In(1, 5), random.In(1, 4)};
    const auto along = static_cast<std::size_t>(random.In(0, 2));
    const Tensor x = random.Tensor8(dims, AnyGranularity(random, dims));
    const OutputType y = Int8Type(AnyGranularity(random, dims));
    const bool exclusive = round % 2 == 1;
    const bool reverse = round % 4 > 1;
    const std::vector<mpq_class> reals = TextbookReals(x);
    std::vector<mpq_class> expected;
    for (std::int64_t i = 0; i < CountOf(dims); ++i) {
      Dims at = CoordinatesOf(i, dims);
      const std::int64_t own = at[along];
      mpq_class product = 1;
      for (at[along] = 0; at[along] < dims[along]; ++at[along]) {
        const bool before = reverse ? at[along] > own : at[along] < own;
        if (!before && (exclusive || at[along] != own)) continue;
        product *= reals[static_cast<std::size_t>(ElementAt(at, dims))];
      }
      expected.push_back(product);
    }
    const Tensor axis = Int64({static_cast<std::int64_t>(along) - 3});
    OpRun run = Running(x, axis, y);
    run.attributes = {Attribute::Int("exclusive", exclusive ? 1 : 0),
                      Attribute::Int("reverse", reverse ? 1 : 0)};
    ASSERT_EQ(Integers(run), TextbookStored(expected, y, dims));
  }
}

// Factors of 24 bits, so that all but the first products have more bits than any tie, and stay
// within the range of y.
TEST(CumProd, RoundsLongProductsOfFloats) {
  std::mt19937 engine(72);
  for (int round = 0; round < 20; ++round) {
    std::vector<float> values;
    std::vector<float> expected;
    mpq_class product = 1;
    for (int i = 0; i < 300; ++i) {
      const float spread = 1 + static_cast<float>(engine() % 0x800000) * 0x1p-23F;
      const float sign = engine() % 2 == 0 ? 1.0F : -1.0F;
      values.push_back(sign * (i % 2 == 0 ? spread : 0.71F / spread));
      product *= mpq_class(static_cast<double>(values.back()));
      expected.push_back(TextbookFloat(product));
    }
    const Tensor x = Float({300}, values);
    const Tensor axis = Int64({0});
    ASSERT_EQ(Floats(Running(x, axis, FloatType())), expected);
    const Tensor all = Int64({0});
    OpRun reduced{"ReduceProd", {}, {&x, &all}, FloatType()};
    reduced.opset = 18;
    ASSERT_THAT(Floats(reduced), ElementsAre(expected.back()));
  }
}

// The values at 2 of the cyclotomic polynomials of the divisors of 180, whose product is 2^180 - 1;
// none has more than 49 bits.
std::vector<double> FactorsOfNearlyTwoTo180() {
  std::vector<double> factors;
  std::map<int, mpz_class> values;
  for (int d = 1; d <= 180; ++d) {
    if (180 % d != 0) continue;
    mpz_class value = (mpz_class(1) << static_cast<unsigned>(d)) - 1;
    for (const auto& [divisor, other] : values) {
      if (d % divisor == 0) value /= other;
    }
    values[d] = value;
    factors.push_back(value.get_d());
  }
  return factors;
}

double ProductOfDoubles(const std::vector<double>& factors) {
  Tensor x = *format::MakeTensor(ElementType::kDouble, {std::ssize(factors)});
  std::ranges::copy(factors, x.As<double>().begin());
  OpRun run{"ReduceProd", {}, {&x}, OutputType{ElementType::kDouble, std::nullopt}};
  return run.Run()->As<double>()[0];
}

// 2^53 + 3 = 5 * 1801439850948199 is a tie of binary64, which goes to 2^53 + 4; times 1 - 2^-180,
// once or more often, it lies below.
TEST(ReduceProd, DecidesNextToATie) {
  std::vector<double> factors = {5, 1801439850948199};
  EXPECT_EQ(ProductOfDoubles(factors), 0x1p53 + 4);
  for (int count = 1; count <= 3; ++count) {
    for (const double factor : FactorsOfNearlyTwoTo180()) factors.push_back(factor);
    factors.push_back(0x1p-180);
    EXPECT_EQ(ProductOfDoubles(factors), 0x1p53 + 2) << count;
    factors.push_back(-1);
    EXPECT_EQ(ProductOfDoubles(factors), -(0x1p53 + 2)) << count;
    factors.pop_back();
  }
}

TEST(ReduceProd, TakesAMillionElements) {
  constexpr float kAbove = 0x1.000002p0F, kBelow = 0x1.fffffep-1F;
  std::vector<float> values(1 << 20, kBelow);
  for (std::size_t i = 0; i < values.size(); i += 2) values[i] = kAbove;
  const Tensor x = Float({1 << 20}, values);
  const mpq_class pair = mpq_class(double{kAbove}) * mpq_class(double{kBelow});
  const mpq_class power =
      TextbookValue([](mpfr_ptr v) { mpfr_pow_ui(v, v, 1U << 19, MPFR_RNDN); }, pair);
  EXPECT_THAT(Floats({"ReduceProd", {}, {&x}, FloatType()}), ElementsAre(TextbookFloat(power)));
}

TEST(ReduceProd, GoesBeyondEveryRange) {
  const Tensor huge = Float({1 << 20}, std::vector<float>(1 << 20, 3.0e38F));
  EXPECT_THAT(Floats({"ReduceProd", {}, {&huge}, FloatType()}),
              ElementsAre(std::numeric_limits<float>::infinity()));
  const Tensor tiny = Float({1 << 20}, std::vector<float>(1 << 20, -3.0e-38F));
  EXPECT_THAT(Floats({"ReduceProd", {}, {&tiny}, FloatType()}), ElementsAre(0));
  EXPECT_THAT(Integers({"ReduceProd", {}, {&tiny}, Int8Type(Q({0x1p-149F}, {5}))}), ElementsAre(5));
}

}  // namespace
}  // namespace qtx::reference::testing::product_test
