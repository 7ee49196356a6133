// log_softmax.S1 to log_softmax.S3.
#include <algorithm>

#include "unary_textbook.h"

namespace qtx::reference::testing {
namespace {

// x[at] - log(sum of e^x), to 400 bits.
mpq_class TextbookLogSoftmax(const std::vector<mpq_class>& row, std::size_t at) {
  mpfr_t sum, term;
  mpfr_init2(sum, 400);
  mpfr_init2(term, 400);
  mpfr_set_zero(sum, 1);
  for (const mpq_class& x : row) {
    const mpq_class difference = x - row[at];
    mpfr_set_q(term, difference.get_mpq_t(), MPFR_RNDN);
    mpfr_exp(term, term, MPFR_RNDN);
    mpfr_add(sum, sum, term, MPFR_RNDN);
  }
  mpfr_log(sum, sum, MPFR_RNDN);
  mpfr_neg(sum, sum, MPFR_RNDN);
  mpq_class result;
  mpfr_get_q(result.get_mpq_t(), sum);
  mpfr_clear(sum);
  mpfr_clear(term);
  return result;
}

TEST(LogSoftmax, EqualsFourHundredBitsOnRandomRows) {
  Random random(51);
  for (int round = 0; round < 200; ++round) {
    const Tensor x = random.Tensor8({random.In(1, 30)}, Q({random.Scale() * 0.3F}, {3}));
    const OutputType type = Type(ElementType::kInt16Q, Q({random.Scale() * 0.01F}, {-5}));
    const std::vector<mpq_class> reals = TextbookReals(x);
    std::vector<mpq_class> expected;
    for (std::size_t i = 0; i < reals.size(); ++i) {
      expected.push_back(TextbookLogSoftmax(reals, i));
    }
    EXPECT_EQ(Integers({"LogSoftmax", {}, {&x}, type}), TextbookStored(expected, type, x.dims));
  }
}

TEST(LogSoftmax, IsTheNearestFloat) {
  std::mt19937 engine(52);
  for (int round = 0; round < 100; ++round) {
    std::vector<float> values;
    for (int i = 0; i < 12; ++i) {
      values.push_back(static_cast<float>(engine()) * 0x1p-29F - static_cast<float>(round % 9));
    }
    const Tensor x = Float({12}, values);
    const std::vector<mpq_class> reals = TextbookReals(x);
    const std::vector<float> found = Floats({"LogSoftmax", {}, {&x}, FloatType()});
    for (std::size_t i = 0; i < reals.size(); ++i) {
      EXPECT_EQ(found[i], TextbookFloat(TextbookLogSoftmax(reals, i))) << i;
    }
  }
}

// e^-300 = 5.14820022241194e-131 is no zero in binary64 (to 60 digits, by another program).
TEST(Softmax, KeepsSmallSharesOfDoubles) {
  Tensor x = *format::MakeTensor(ElementType::kDouble, {2});
  x.As<double>()[1] = -300;
  for (const char* arithmetic : {"exact", "float32"}) {
    OpRun run{"Softmax", {}, {&x}, {ElementType::kDouble}, arithmetic};
    const auto y = run.Run();
    ASSERT_TRUE(y.has_value());
    EXPECT_EQ(y->As<double>()[0], 1);
    EXPECT_EQ(y->As<double>()[1], 0x1.245639c3a49f7p-433) << arithmetic;
  }
}

}  // namespace
}  // namespace qtx::reference::testing
