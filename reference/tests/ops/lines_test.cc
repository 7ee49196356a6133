// CumSum, LpNormalization, LRN and OneHot, line by line, against GMP and MPFR: cum_sum.S1,
// lp_normalization.S1, lrn.S1 to lrn.S3, one_hot.S1.
#include <algorithm>

#include "moving.h"
#include "unary_textbook.h"

namespace qtx::reference::testing::lines_test {
namespace {

using ::testing::ElementsAre;

// x over the root of `total`, of 400 bits.
mpq_class OverRoot(const mpq_class& x, const mpq_class& total) {
  const mpq_class root = TextbookValue([](mpfr_ptr v) { mpfr_sqrt(v, v, MPFR_RNDN); }, total);
  return root == 0 ? root : mpq_class(x / root);
}

mpq_class Square(const mpq_class& x) { return x * x; }
mpq_class Magnitude(const mpq_class& x) { return abs(x); }

// The sum of f of the elements of the line through `at` whose positions are in [first, last).
mpq_class LineSum(const std::vector<mpq_class>& reals, const Dims& dims, Dims at, std::size_t axis,
                  std::int64_t first, std::int64_t last,
                  const std::function<mpq_class(const mpq_class&)>& f) {
  mpq_class sum = 0;
  for (at[axis] = first; at[axis] < last; ++at[axis]) {
    sum += f(reals[static_cast<std::size_t>(ElementAt(at, dims))]);
  }
  return sum;
}

struct Lines {
  Dims dims;
  std::size_t axis = 0;
  Tensor x;
  OutputType y;
};

Lines RandomLines(Random& random) {
  Lines lines;
  lines.dims = {random.In(1, 4), random.In(1, 5), random.In(1, 4)};
  lines.axis = static_cast<std::size_t>(random.In(0, 2));
  lines.x = random.Tensor8(lines.dims, AnyGranularity(random, lines.dims));
  lines.y = Int8Type(AnyGranularity(random, lines.dims));
  return lines;
}

Attribute AxisAttribute(const Lines& lines) {
  return Attribute::Int("axis", static_cast<std::int64_t>(lines.axis) - 3);
}

TEST(CumSum, AddsTheExactReals) {
  Random random(51);
  for (int round = 0; round < 100; ++round) {
    const Lines lines = RandomLines(random);
    const bool exclusive = round % 2 == 1;
    const bool reverse = round % 4 > 1;
    const std::vector<mpq_class> reals = TextbookReals(lines.x);
    std::vector<mpq_class> expected;
    for (std::int64_t i = 0; i < CountOf(lines.dims); ++i) {
      const Dims at = CoordinatesOf(i, lines.dims);
      const std::int64_t k = at[lines.axis];
      const std::int64_t own = exclusive ? 0 : 1;
      const std::int64_t first = reverse ? k + 1 - own : 0;
      const std::int64_t last = reverse ? lines.dims[lines.axis] : k + own;
      expected.push_back(LineSum(reals, lines.dims, at, lines.axis, first, last,
                                 [](const mpq_class& x) { return x; }));
    }
    const Tensor axis = Int64({static_cast<std::int64_t>(lines.axis) - 3});
    ASSERT_EQ(Integers({"CumSum",
                        {Attribute::Int("exclusive", exclusive ? 1 : 0),
                         Attribute::Int("reverse", reverse ? 1 : 0)},
                        {&lines.x, &axis},
                        lines.y}),
              TextbookStored(expected, lines.y, lines.dims));
  }
}

TEST(LpNormalization, DividesByTheNormOfTheLine) {
  Random random(52);
  for (int round = 0; round < 100; ++round) {
    const Lines lines = RandomLines(random);
    const bool squares = round % 2 == 0;
    const std::vector<mpq_class> reals = TextbookReals(lines.x);
    std::vector<mpq_class> expected;
    for (std::int64_t i = 0; i < CountOf(lines.dims); ++i) {
      const mpq_class& x = reals[static_cast<std::size_t>(i)];
      const mpq_class total = LineSum(reals, lines.dims, CoordinatesOf(i, lines.dims), lines.axis,
                                      0, lines.dims[lines.axis], squares ? Square : Magnitude);
      expected.push_back(squares      ? OverRoot(x, total)
                         : total == 0 ? mpq_class(0)
                                      : mpq_class(x / total));
    }
    ASSERT_EQ(Integers({"LpNormalization",
                        {AxisAttribute(lines), Attribute::Int("p", squares ? 2 : 1)},
                        {&lines.x},
                        lines.y}),
              TextbookStored(expected, lines.y, lines.dims));
  }
}

TEST(LRN, DividesByAPowerOfTheSquaresAbout) {
  Random random(53);
  for (int round = 0; round < 100; ++round) {
    const Lines lines = RandomLines(random);
    const std::int64_t size = random.In(1, 6);
    const float beta = round % 2 == 0 ? 0.75F : 0.3F;
    const std::vector<mpq_class> reals = TextbookReals(lines.x);
    std::vector<mpq_class> expected;
    for (std::int64_t i = 0; i < CountOf(lines.dims); ++i) {
      const Dims at = CoordinatesOf(i, lines.dims);
      const std::int64_t first = std::max<std::int64_t>(0, at[1] - (size - 1) / 2);
      const std::int64_t end = std::min(lines.dims[1], at[1] + size / 2 + 1);
      const mpq_class sum = LineSum(reals, lines.dims, at, 1, first, end, Square);
      const mpq_class base = mpq_class(3, 2) + mpq_class(1, 4) / static_cast<long>(size) * sum;
      const mpq_class power = TextbookValue(
          [beta](mpfr_ptr v) {
            mpfr_log(v, v, MPFR_RNDN);
            mpfr_mul_d(v, v, -static_cast<double>(beta), MPFR_RNDN);
            mpfr_exp(v, v, MPFR_RNDN);
          },
          base);
      expected.push_back(reals[static_cast<std::size_t>(i)] * power);
    }
    ASSERT_EQ(Integers({"LRN",
                        {Attribute::Int("size", size), Attribute::Float("alpha", 0.25F),
                         Attribute::Float("beta", beta), Attribute::Float("bias", 1.5F)},
                        {&lines.x},
                        lines.y}),
              TextbookStored(expected, lines.y, lines.dims));
  }
}

TEST(OneHot, IsOnWhereTheIndexSays) {
  const Tensor indices = Stored(ElementType::kInt8, {2, 2}, {1, -3, 3, -4});
  const Tensor depth = Int64({3});
  const Tensor values = Int8({2}, {1, 5}, Q({0.5F}));
  EXPECT_THAT(Integers({"OneHot",
                        {Attribute::Int("axis", 1)},
                        {&indices, &depth, &values},
                        Int8Type(Q({0.25F}, {3}))}),
              ElementsAre(5, 13, 13, 5, 5, 5, 5, 5, 5, 5, 5, 5));
}

}  // namespace
}  // namespace qtx::reference::testing::lines_test
