// ReduceLogSum and ReduceLogSumExp against MPFR: reduce_log_sum.S1, reduce_log_sum_exp.S1.
#include "unary_textbook.h"

namespace qtx::reference::testing::log_sum_test {
namespace {

using ::testing::ElementsAre;

constexpr float kInf = std::numeric_limits<float>::infinity();

void Exp(mpfr_ptr x) { mpfr_exp(x, x, MPFR_RNDN); }
void Log(mpfr_ptr x) { mpfr_log(x, x, MPFR_RNDN); }

mpq_class LogSum(const std::vector<mpq_class>& group) {
  mpq_class sum = 0;
  for (const mpq_class& x : group) sum += x;
  return TextbookValue(Log, sum);
}

mpq_class LogSumExp(const std::vector<mpq_class>& group) {
  mpq_class max = group[0];
  for (const mpq_class& x : group) max = x > max ? x : max;
  mpq_class sum = 0;
  for (const mpq_class& x : group) sum += x == max ? mpq_class(1) : TextbookValue(Exp, x - max);
  return sum == 1 ? max : mpq_class(max + TextbookValue(Log, sum));
}

OpRun Reduced(const std::string& op, const Tensor& x, const OutputType& type) {
  OpRun run{op, {Attribute::Ints("axes", {1}), Attribute::Int("keepdims", 0)}, {&x}, type};
  run.opset = 17;
  return run;
}

std::vector<mpq_class> OfRows(const Tensor& x, mpq_class (*f)(const std::vector<mpq_class>&)) {
  const std::vector<mpq_class> reals = TextbookReals(x);
  std::vector<mpq_class> results;
  for (auto at = reals.begin(); at != reals.end(); at += x.dims[1]) {
    results.push_back(f({at, at + x.dims[1]}));
  }
  return results;
}

TEST(ReduceLogSum, EqualsFourHundredBitsOnRandomRows) {
  Random random(61);
  for (int round = 0; round < 200; ++round) {
    const Tensor x = random.Tensor8({4, random.In(1, 30)}, Q({random.Scale()}, {-129}));
    const OutputType type = Type(ElementType::kInt16Q, Q({random.Scale() * 0.01F}, {-5}));
    const std::vector<mpq_class> expected = OfRows(x, LogSum);
    EXPECT_EQ(Integers(Reduced("ReduceLogSum", x, type)), TextbookStored(expected, type, {4}));
    std::vector<float> floats;
    for (const mpq_class& real : expected) floats.push_back(TextbookFloat(real));
    EXPECT_EQ(Floats(Reduced("ReduceLogSum", x, FloatType())), floats);
  }
}

TEST(ReduceLogSumExp, EqualsFourHundredBitsOnRandomRows) {
  Random random(62);
  for (int round = 0; round < 200; ++round) {
    const Tensor x = random.Tensor8({4, random.In(1, 30)}, Q({random.Scale() * 0.3F}, {3}));
    const OutputType type = Type(ElementType::kInt16Q, Q({random.Scale() * 0.01F}, {-5}));
    const std::vector<mpq_class> expected = OfRows(x, LogSumExp);
    EXPECT_EQ(Integers(Reduced("ReduceLogSumExp", x, type)), TextbookStored(expected, type, {4}));
    std::vector<float> floats;
    for (const mpq_class& real : expected) floats.push_back(TextbookFloat(real));
    EXPECT_EQ(Floats(Reduced("ReduceLogSumExp", x, FloatType())), floats);
  }
}

// 2^24 + 1 is a tie of binary32, which goes to 2^24; what e^-d is added to lies above, but where
// that is less than 2^-8192 of it.
TEST(ReduceLogSumExp, DecidesTiesOfBinary32) {
  for (const std::int64_t d : {1, 20, 100, 700, 5000}) {
    const Tensor x = Stored(ElementType::kInt32Q, {1, 2}, {16777217, 16777217 - d}, Q({1.0F}));
    EXPECT_THAT(Floats(Reduced("ReduceLogSumExp", x, FloatType())), ElementsAre(0x1p24F + 2)) << d;
  }
  const Tensor x = Stored(ElementType::kInt32Q, {1, 2}, {16777217, 16777217 - 7000}, Q({1.0F}));
  EXPECT_THAT(Floats(Reduced("ReduceLogSumExp", x, FloatType())), ElementsAre(0x1p24F));
}

TEST(ReduceLogSumExp, TakesElementsOfAnySize) {
  const float huge = std::numeric_limits<float>::max();
  const Tensor x = Float({3, 2}, {huge, -huge, -huge, -huge, huge, huge});
  for (const char* arithmetic : {"exact", "float32"}) {
    OpRun run = Reduced("ReduceLogSumExp", x, FloatType());
    run.arithmetic = arithmetic;
    EXPECT_THAT(Floats(run), ElementsAre(huge, -huge, huge)) << arithmetic;
  }
}

TEST(ReduceLogSumExp, PassesInfinitiesOn) {
  const Tensor x = Float({3, 2}, {kInf, kInf, -kInf, -kInf, -kInf, 2});
  for (const char* arithmetic : {"exact", "float32"}) {
    OpRun run = Reduced("ReduceLogSumExp", x, FloatType());
    run.arithmetic = arithmetic;
    EXPECT_THAT(Floats(run), ElementsAre(kInf, -kInf, 2)) << arithmetic;
  }
}

}  // namespace
}  // namespace qtx::reference::testing::log_sum_test
