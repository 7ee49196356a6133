// Functions of one real that are rational: abs, ceil, floor, hard_sigmoid, hard_swish, leaky_relu,
// neg, p_relu, reciprocal, round, shrink, sign, softsign and thresholded_relu, against rationals.
#include "unary_textbook.h"

namespace qtx::reference::testing {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const float kInfinity = std::numeric_limits<float>::infinity();
const float kNan = std::nanf("");

mpq_class Bounded(const mpq_class& x) { return x < 0 ? mpq_class(0) : x > 1 ? mpq_class(1) : x; }

Textbook Leaky(float alpha) {
  return
      [alpha](const mpq_class& x) { return x < 0 ? mpq_class(x * static_cast<double>(alpha)) : x; };
}
Textbook Hard(float alpha, float beta) {
  return [alpha, beta](const mpq_class& x) {
    return Bounded(x * static_cast<double>(alpha) + static_cast<double>(beta));
  };
}

mpq_class Down(const mpq_class& x) {
  mpz_class whole;
  mpz_fdiv_q(whole.get_mpz_t(), x.get_num_mpz_t(), x.get_den_mpz_t());
  return whole;
}
// The floor of x + 1/2, or the even one below where x is a tie.
mpq_class ToEven(const mpq_class& x) {
  const mpq_class up = Down(x + mpq_class(1, 2));
  const bool tie = up - x == mpq_class(1, 2);
  return tie && mpz_odd_p(up.get_num_mpz_t()) != 0 ? mpq_class(up - 1) : up;
}

Textbook Above(float alpha) {
  return [alpha](const mpq_class& x) { return x > static_cast<double>(alpha) ? x : mpq_class(0); };
}
Textbook Shrunk(float lambd, float bias) {
  return [l = static_cast<double>(lambd), b = static_cast<double>(bias)](const mpq_class& x) {
    return x < -l ? mpq_class(x + b) : x > l ? mpq_class(x - b) : mpq_class(0);
  };
}

struct Row {
  const char* op;
  std::vector<Attribute> attributes;
  Textbook f;
  Domain1 domain;
};

class Rational : public ::testing::TestWithParam<Row> {};

TEST_P(Rational, EqualsTheTextbookEverywhere) {
  const Row& row = GetParam();
  ExpectTextbookEverywhere(row.op, row.attributes, row.f, row.domain);
}

// Half of the results are ties: x in quarters, y in units.
TEST_P(Rational, RoundsTiesToEven) {
  const Row& row = GetParam();
  const Quantization q = Q({0.25F}, {row.domain.low > 0 ? -129 : 1});
  ExpectTextbook(row.op, row.attributes, row.f, AllStored(ElementType::kInt8Q, q),
                 Int8Type(Q({0.5F}, {3})));
}

INSTANTIATE_TEST_SUITE_P(
    Functions, Rational,
    ::testing::Values(
        Row{"Neg", {}, [](const mpq_class& x) { return mpq_class(-x); }, {.low = -0x1p127F}},
        Row{"Abs", {}, [](const mpq_class& x) { return x < 0 ? mpq_class(-x) : x; }, {}},
        Row{"Floor", {}, Down, {}},
        Row{"Ceil", {}, [](const mpq_class& x) { return mpq_class(-Down(-x)); }, {}},
        Row{"Round", {}, ToEven, {}},
        Row{"Sign", {}, [](const mpq_class& x) { return mpq_class(sgn(x)); }, {}},
        Row{"Reciprocal",
            {},
            [](const mpq_class& x) { return mpq_class(1 / x); },
            {.low = 0x1p-126F, .high = 0x1p126F, .y_scale = 0x1p-3F}},
        Row{"LeakyRelu", {}, Leaky(0.01F), {.y_scale = 0x1p-8F}},
        Row{"LeakyRelu", {Attribute::Float("alpha", -0.5F)}, Leaky(-0.5F), {}},
        Row{"LeakyRelu", {Attribute::Float("alpha", 0x1p-140F)}, Leaky(0x1p-140F), {}},
        Row{"HardSigmoid", {}, Hard(0.2F, 0.5F), {.low = -4, .high = 4}},
        Row{"HardSigmoid",
            {Attribute::Float("alpha", -0.75F), Attribute::Float("beta", 0.25F)},
            Hard(-0.75F, 0.25F),
            {.low = -2, .high = 2}},
        Row{"Softsign",
            {},
            [](const mpq_class& x) { return mpq_class(x / (1 + abs(x))); },
            {.low = -0x1p127F, .high = 0x1p127F}},
        Row{"ThresholdedRelu", {}, Above(1), {}},
        Row{"ThresholdedRelu", {Attribute::Float("alpha", -0.3F)}, Above(-0.3F), {}},
        Row{"Shrink", {}, Shrunk(0.5F, 0), {}},
        Row{"Shrink",
            {Attribute::Float("lambd", 0.3F), Attribute::Float("bias", 0.7F)},
            Shrunk(0.3F, 0.7F),
            {}},
        Row{"Shrink",
            {Attribute::Float("lambd", -1.5F), Attribute::Float("bias", -0.1F)},
            Shrunk(-1.5F, -0.1F),
            {}},
        Row{"HardSwish",
            {},
            [](const mpq_class& x) { return mpq_class(x * Bounded(x / 6 + mpq_class(1, 2))); },
            {.low = -8, .high = 8, .y_scale = 0x1p-4F}}),
    [](const auto& row) { return row.param.op + std::to_string(row.index); });

// x a + b next to a bound of x: the sum cancels to 2^-25, exactly.
TEST(HardSigmoid, IsExactWhereItsSumCancels) {
  const Tensor x = Float({3}, {-2.5F, std::nextafter(-2.5F, 0.0F), std::nextafter(-2.5F, -3.0F)});
  const std::vector<float> y = Floats({"HardSigmoid", {}, {&x}, FloatType()});
  // 0.2 as a binary32 is 0.2 + 2^-28.07..: 1/2 - 2.5 alpha = -7.45e-9 is below zero.
  EXPECT_EQ(y[0], 0);
  for (std::size_t i = 0; i < 3; ++i) {
    const mpq_class real(static_cast<double>(x.As<float>()[i]));
    EXPECT_EQ(y[i], TextbookFloat(Hard(0.2F, 0.5F)(real)));
  }
}

TEST(Activations, FollowIeeeAtTheInfinities) {
  const Tensor x = Float({3}, {-kInfinity, kInfinity, kNan});
  struct Limit {
    const char* op;
    float low, high;
  };
  for (const auto& [op, low, high] :
       {Limit{"Neg", kInfinity, -kInfinity}, Limit{"Abs", kInfinity, kInfinity},
        Limit{"Floor", -kInfinity, kInfinity}, Limit{"Ceil", -kInfinity, kInfinity},
        Limit{"Round", -kInfinity, kInfinity}, Limit{"Sign", -1, 1}, Limit{"Reciprocal", 0, 0},
        Limit{"LeakyRelu", -kInfinity, kInfinity}, Limit{"HardSigmoid", 0, 1},
        Limit{"Softsign", -1, 1}, Limit{"ThresholdedRelu", 0, kInfinity},
        Limit{"Shrink", -kInfinity, kInfinity}, Limit{"HardSwish", 0, kInfinity}}) {
    for (const char* arithmetic : {"exact", "float32"}) {
      const std::vector<float> y = Floats({op, {}, {&x}, FloatType(), arithmetic});
      // hard_swish.S4: -inf * 0.
      const bool product = std::string(op) == "HardSwish" && arithmetic[0] == 'f';
      EXPECT_TRUE(product ? std::isnan(y[0]) : y[0] == low) << op;
      EXPECT_EQ(y[1], high) << op;
      EXPECT_TRUE(std::isnan(y[2])) << op;
    }
  }
}

TEST(Reciprocal, OfZeroIsInfinite) {
  const Tensor x = Int8({2}, {3, 4}, Q({0.5F}, {3}));
  for (const char* arithmetic : {"exact", "float32"}) {
    EXPECT_THAT(Integers({"Reciprocal", {}, {&x}, Int8Type(Q({1}, {7})), arithmetic}),
                ElementsAre(127, 9));
    const Tensor zero = Float({1}, {0});
    EXPECT_THAT(Floats({"Reciprocal", {}, {&zero}, FloatType(), arithmetic}),
                ElementsAre(kInfinity));
  }
}

TEST(Neg, WrapsTheLeastInteger) {
  const Tensor bytes = Stored(ElementType::kInt8, {3}, {-128, 5, 127});
  const std::int64_t least = std::numeric_limits<std::int64_t>::min();
  const Tensor wide = Int64({least, 7});
  for (const char* arithmetic : {"exact", "float32", "tflite"}) {
    EXPECT_THAT(Integers({"Neg", {}, {&bytes}, {ElementType::kInt8, std::nullopt}, arithmetic}),
                ElementsAre(-128, -5, -127));
    EXPECT_THAT(Integers({"Abs", {}, {&bytes}, {ElementType::kInt8, std::nullopt}, arithmetic}),
                ElementsAre(-128, 5, 127));
    EXPECT_THAT(Integers({"Neg", {}, {&wide}, {ElementType::kInt64, std::nullopt}, arithmetic}),
                ElementsAre(least, -7));
  }
}

// float32: t = alpha * x rounds, then t + beta rounds.
TEST(HardSigmoid, RoundsTwiceInBinary32) {
  const float alpha = 0.2F;
  std::vector<float> values;
  for (int v = -128; v < 128; ++v) values.push_back(static_cast<float>(v) * 0.03F);
  const Tensor x = Float({256}, values);
  const std::vector<float> y = Floats({"HardSigmoid", {}, {&x}, FloatType(), "float32"});
  const std::vector<float> z = Floats({"HardSwish", {}, {&x}, FloatType(), "float32"});
  const auto rounded = [](const mpq_class& exact) {
    return mpq_class(static_cast<double>(TextbookFloat(exact)));
  };
  for (std::size_t i = 0; i < values.size(); ++i) {
    const mpq_class real(static_cast<double>(values[i]));
    const mpq_class line = rounded(rounded(real * static_cast<double>(alpha)) + mpq_class(1, 2));
    EXPECT_EQ(y[i], TextbookFloat(Bounded(line))) << values[i];
    const mpq_class sixth = rounded(mpq_class(1, 6));
    const mpq_class gate = Bounded(rounded(rounded(real * sixth) + mpq_class(1, 2)));
    EXPECT_EQ(z[i], TextbookFloat(real * gate)) << values[i];
  }
}

TEST(Activations, RefuseAttributesThatAreNotFinite) {
  const Tensor x = Float({1}, {1.0F});
  for (const float bad : {kInfinity, kNan}) {
    for (const char* op :
         {"Celu", "Elu", "HardSigmoid", "LeakyRelu", "Selu", "Swish", "ThresholdedRelu"}) {
      EXPECT_THAT(ErrorOf({op, {Attribute::Float("alpha", bad)}, {&x}, FloatType()}),
                  HasSubstr("attribute 'alpha'"));
    }
  }
}

mpq_class TextbookPRelu(const mpq_class& x, const mpq_class& slope) {
  return x < 0 ? mpq_class(x * slope) : x;
}

// Slopes of shape [3, 1]: one a row.
TEST(PRelu, EqualsTheTextbookWithBroadcastSlopes) {
  Random random(11);
  for (int round = 0; round < 60; ++round) {
    const Tensor x = random.Tensor8({2, 3, 20}, random.PerTensor());
    const Tensor slope = round % 2 == 0 ? random.Tensor8({3, 1}, random.PerTensor())
                                        : random.Tensor8({3, 1}, random.PerAxis(0, 3));
    const OutputType y = Int8Type(random.PerTensor());
    const std::vector<mpq_class> reals = TextbookReals(x);
    const std::vector<mpq_class> slopes = TextbookReals(slope);
    std::vector<mpq_class> expected;
    for (std::size_t i = 0; i < reals.size(); ++i) {
      expected.push_back(TextbookPRelu(reals[i], slopes[i / 20 % 3]));
    }
    const Values stored = TextbookStored(expected, y, x.dims);
    EXPECT_EQ(Integers({"PRelu", {}, {&x, &slope}, y}), stored);
    EXPECT_EQ(Integers({"PRelu", {}, {&x, &slope}, y, "tflite"}), stored);  // no kernel of MUL
  }
}

TEST(PRelu, HasScalesOfEverySize) {
  for (const float scale : {0x1p-149F, 0x1p-126F, 0x1p127F}) {
    const Tensor x = Int8({4}, {-7, 7, -100, 0}, Q({scale}));
    const Tensor slope = Float({1}, {0.5F});
    EXPECT_THAT(Integers({"PRelu", {}, {&x, &slope}, Int8Type(Q({scale}))}),
                ElementsAre(-4, 7, -50, 0));
    const Tensor huge = Float({1}, {0x1p127F});
    EXPECT_THAT(Integers({"PRelu", {}, {&x, &huge}, Int8Type(Q({scale}))}),
                ElementsAre(-128, 7, -128, 0));
  }
}

TEST(PRelu, MultipliesPlainIntegersModulo) {
  const Tensor x = Int64({-3, 5, -1});
  const Tensor slope = Int64({std::numeric_limits<std::int64_t>::max()});
  EXPECT_THAT(Integers({"PRelu", {}, {&x, &slope}, {ElementType::kInt64, std::nullopt}}),
              ElementsAre(std::numeric_limits<std::int64_t>::min() + 3, 5,
                          std::numeric_limits<std::int64_t>::min() + 1));
}

TEST(PRelu, MultipliesOnceInBinary32) {
  const Tensor x = Int8({2}, {-77, 33}, Q({0.1F}));
  const Tensor slope = Int8({1}, {3}, Q({0.3F}));
  const float negative = -77.0F * 0.1F * (3.0F * 0.3F);
  EXPECT_THAT(Floats({"PRelu", {}, {&x, &slope}, FloatType(), "float32"}),
              ElementsAre(negative, 33.0F * 0.1F));
}

TEST(PRelu, RefusesASlopeThatEnlargesX) {
  const Tensor x = Int8({1, 3}, {1, 2, 3}, Q({1}));
  const Tensor slope = Int8({2, 3}, {1, 2, 3, 4, 5, 6}, Q({1}));
  EXPECT_THAT(ErrorOf({"PRelu", {}, {&x, &slope}, Int8Type(Q({1}))}), HasSubstr("input[1] 'in1'"));
  const Tensor four = Int8({4}, {1, 2, 3, 4}, Q({1}));
  EXPECT_THAT(ErrorOf({"PRelu", {}, {&x, &four}, Int8Type(Q({1}))}), HasSubstr("broadcast"));
}

}  // namespace
}  // namespace qtx::reference::testing
