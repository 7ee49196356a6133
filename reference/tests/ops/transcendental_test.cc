// Functions of one real that are no rational numbers: acos.S1, acosh.S1, asin.S1, asinh.S1,
// atan.S1, atanh.S1, celu.S1, cos.S1, cosh.S1, elu.S1, erf.S1, exp.S1, gelu.S1, gelu.S2, log.S1,
// mish.S1, selu.S1, sin.S1, sinh.S1, softplus.S1, sqrt.S1, swish.S1, tan.S1, tanh.S1, and what they
// are at the ends of their domains.
#include "unary_textbook.h"

namespace qtx::reference::testing::transcendental_test {
namespace {

using ::testing::ElementsAre;

const float kInfinity = std::numeric_limits<float>::infinity();
const float kNan = std::nanf("");

void MpfrTanh(mpfr_ptr x) { mpfr_tanh(x, x, MPFR_RNDN); }
void MpfrErf(mpfr_ptr x) { mpfr_erf(x, x, MPFR_RNDN); }
void MpfrExp(mpfr_ptr x) { mpfr_exp(x, x, MPFR_RNDN); }
void MpfrLog(mpfr_ptr x) { mpfr_log(x, x, MPFR_RNDN); }
void MpfrSqrt(mpfr_ptr x) { mpfr_sqrt(x, x, MPFR_RNDN); }

// log(1 + e^x) as it is written.
void MpfrSoftplus(mpfr_ptr x) {
  if (mpfr_cmp_si(x, 2048) > 0) return;  // x + e^-x
  mpfr_exp(x, x, MPFR_RNDN);
  mpfr_log1p(x, x, MPFR_RNDN);
}

// x tanh(softplus(x)).
void MpfrMish(mpfr_ptr x) {
  Wide factor(400);
  mpfr_set(factor, x, MPFR_RNDN);
  MpfrSoftplus(factor);
  mpfr_tanh(factor, factor, MPFR_RNDN);
  mpfr_mul(x, x, factor, MPFR_RNDN);
}

// x (1 + erf(x / sqrt 2)) / 2: below zero e^(-x^2 / 2) of the sum cancels, less than x^2 bits, and
// from x = -38 on nothing that is stored is left of it.
void MpfrGelu(mpfr_ptr x) {
  const double at = std::clamp(mpfr_get_d(x, MPFR_RNDN), -38.0, 0.0);
  Wide factor(450 + static_cast<mpfr_prec_t>(at * at));
  mpfr_sqrt_ui(factor, 2, MPFR_RNDN);
  mpfr_div(factor, x, factor, MPFR_RNDN);
  mpfr_erf(factor, factor, MPFR_RNDN);
  mpfr_add_ui(factor, factor, 1, MPFR_RNDN);
  mpfr_mul(x, x, factor, MPFR_RNDN);
  mpfr_div_ui(x, x, 2, MPFR_RNDN);
}

// x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2.
void MpfrGeluTanh(mpfr_ptr x) {
  Wide cube(1500);
  mpfr_pow_ui(cube, x, 3, MPFR_RNDN);
  mpfr_mul_ui(cube, cube, 44715, MPFR_RNDN);
  mpfr_div_ui(cube, cube, 1000000, MPFR_RNDN);
  mpfr_add(cube, cube, x, MPFR_RNDN);
  Wide root(1500);
  mpfr_const_pi(root, MPFR_RNDN);
  mpfr_ui_div(root, 2, root, MPFR_RNDN);
  mpfr_sqrt(root, root, MPFR_RNDN);
  mpfr_mul(cube, cube, root, MPFR_RNDN);
  mpfr_tanh(cube, cube, MPFR_RNDN);
  mpfr_add_ui(cube, cube, 1, MPFR_RNDN);
  mpfr_mul(x, x, cube, MPFR_RNDN);
  mpfr_div_ui(x, x, 2, MPFR_RNDN);
}

MpfrFunction MpfrElu(float alpha) {
  return [alpha](mpfr_ptr x) {
    if (mpfr_sgn(x) >= 0) return;
    mpfr_exp(x, x, MPFR_RNDN);
    mpfr_sub_ui(x, x, 1, MPFR_RNDN);
    mpfr_mul_d(x, x, static_cast<double>(alpha), MPFR_RNDN);
  };
}

void MpfrSin(mpfr_ptr x) { mpfr_sin(x, x, MPFR_RNDN); }
void MpfrCos(mpfr_ptr x) { mpfr_cos(x, x, MPFR_RNDN); }
void MpfrTan(mpfr_ptr x) { mpfr_tan(x, x, MPFR_RNDN); }
void MpfrSinh(mpfr_ptr x) { mpfr_sinh(x, x, MPFR_RNDN); }
void MpfrCosh(mpfr_ptr x) { mpfr_cosh(x, x, MPFR_RNDN); }
void MpfrAtan(mpfr_ptr x) { mpfr_atan(x, x, MPFR_RNDN); }
void MpfrAsinh(mpfr_ptr x) { mpfr_asinh(x, x, MPFR_RNDN); }

// Outside the domain NaN, which a quantized type stores as real zero.
MpfrFunction InDomain(int (*f)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t)) {
  return [f](mpfr_ptr x) {
    f(x, x, MPFR_RNDN);
    if (mpfr_nan_p(x) != 0) mpfr_set_zero(x, 1);
  };
}

MpfrFunction MpfrSelu(float alpha, float gamma) {
  return [alpha, gamma](mpfr_ptr x) {
    MpfrElu(alpha)(x);
    mpfr_mul_d(x, x, static_cast<double>(gamma), MPFR_RNDN);
  };
}

// Below zero alpha times the Elu of x / alpha.
MpfrFunction MpfrCelu(float alpha) {
  return [alpha](mpfr_ptr x) {
    if (mpfr_sgn(x) >= 0) return;
    mpfr_div_d(x, x, static_cast<double>(alpha), MPFR_RNDN);
    MpfrElu(alpha)(x);
  };
}

// x times the Sigmoid of alpha x.
MpfrFunction MpfrSwish(float alpha) {
  return [alpha](mpfr_ptr x) {
    Wide share(400);
    mpfr_mul_d(share, x, -static_cast<double>(alpha), MPFR_RNDN);
    mpfr_exp(share, share, MPFR_RNDN);
    mpfr_add_ui(share, share, 1, MPFR_RNDN);
    mpfr_div(x, x, share, MPFR_RNDN);
  };
}

const std::vector<Attribute> kTanhForm = {Attribute::String("approximate", "tanh")};

// Every row: all stored values of 8 and 16 bits, per axis, blocked, extreme scales, binary32, and
// arguments that all but reach a tie.
struct Row {
  const char* op;
  std::vector<Attribute> attributes;
  MpfrFunction f;
  Domain1 domain;
  double low, high;  // where f is monotonic
};

class Transcendental : public ::testing::TestWithParam<Row> {};

TEST_P(Transcendental, EqualsTheTextbookEverywhere) {
  const Row& row = GetParam();
  ExpectTextbookEverywhere(row.op, row.attributes, row.f, row.domain);
}

TEST_P(Transcendental, DecidesNextToTies) {
  const Row& row = GetParam();
  ExpectNearTies(row.op, row.attributes, row.f, row.low, row.high);
}

// float32.S8: one operation of binary32, then one division and rounding.
TEST_P(Transcendental, IsOneOperationOfBinary32) {
  const Row& row = GetParam();
  const bool positive = row.domain.low > 0;
  const Quantization q = Q({0.1F}, {positive ? -129 : 3});
  const Tensor x = AllStored(ElementType::kInt8Q, q);
  Values expected;
  for (std::int32_t v = -128; v < 128; ++v) {
    const float y = TextbookFloat(row.f, static_cast<float>(v - q.offset[0]) * 0.1F);
    const float quotient = std::clamp(y / 0.03F, -1000.0F, 1000.0F);
    expected.push_back(std::clamp(std::llrint(static_cast<double>(quotient)) - 5LL, -128LL, 127LL));
  }
  const OutputType y = Int8Type(Q({0.03F}, {-5}));
  EXPECT_EQ(Integers({row.op, row.attributes, {&x}, y, "float32"}), expected);
}

INSTANTIATE_TEST_SUITE_P(
    Functions, Transcendental,
    ::testing::Values(
        Row{"Tanh", {}, MpfrTanh, {.low = -0x1p5F, .high = 0x1p5F}, -2, 2},
        Row{"Erf", {}, MpfrErf, {.low = -0x1p4F, .high = 0x1p4F}, -2, 2},
        Row{"Exp", {}, MpfrExp, {.low = -110, .high = 90, .y_scale = 0x1p-4F}, -2, 1},
        Row{"Log", {}, MpfrLog, {.low = 0x1p-126F, .high = 0x1p100F, .y_scale = 0x1p-4F}, 0.1, 20},
        Row{"Sqrt", {}, MpfrSqrt, {.low = 0x1p-126F, .high = 0x1p100F, .y_scale = 0x1p-4F}, 0.1, 9},
        Row{"Softplus", {}, MpfrSoftplus, {.low = -128, .high = 128, .y_scale = 0x1p-4F}, -2, 3},
        Row{"Mish", {}, MpfrMish, {.low = -110, .high = 110, .y_scale = 0x1p-4F}, -6, -1.3},
        Row{"Gelu", {}, MpfrGelu, {.low = -16, .high = 16, .y_scale = 0x1p-4F}, -6, -1},
        Row{"Gelu", kTanhForm, MpfrGeluTanh, {.low = -16, .high = 16, .y_scale = 0x1p-4F}, -6, -1},
        Row{"Sin", {}, MpfrSin, {}, -1.5, 1.5}, Row{"Cos", {}, MpfrCos, {}, 0.1, 3},
        Row{"Tan", {}, MpfrTan, {.y_scale = 0x1p-5F}, -1.5, 1.5},
        Row{"Sinh", {}, MpfrSinh, {.low = -92, .high = 92, .y_scale = 0x1p-4F}, -3, 3},
        Row{"Cosh", {}, MpfrCosh, {.low = -92, .high = 92, .y_scale = 0x1p-4F}, 0.1, 3},
        Row{"Asin", {}, InDomain(mpfr_asin), {0x1p-7F, -1, 1, 0x1p-6F}, -0.9, 0.9},
        Row{"Acos", {}, InDomain(mpfr_acos), {0x1p-7F, -1, 1, 0x1p-5F}, -0.9, 0.9},
        Row{"Atan", {}, MpfrAtan, {.low = -0x1p30F, .high = 0x1p30F, .y_scale = 0x1p-6F}, -3, 3},
        Row{"Asinh", {}, MpfrAsinh, {.low = -0x1p99F, .high = 0x1p99F, .y_scale = 0x1p-5F}, -9, 9},
        Row{"Acosh",
            {},
            InDomain(mpfr_acosh),
            {.low = 1, .high = 0x1p99F, .y_scale = 0x1p-5F},
            1.1,
            9},
        Row{"Atanh", {}, InDomain(mpfr_atanh), {0x1p-7F, -1, 1, 0x1p-5F}, -0.9, 0.9},
        Row{"Selu", {}, MpfrSelu(0x1.ac5afap0F, 0x1.0cfabep0F), {.y_scale = 0x1p-4F}, -3, -0.01},
        Row{"Selu",
            {Attribute::Float("alpha", -0.3F), Attribute::Float("gamma", 1.7F)},
            MpfrSelu(-0.3F, 1.7F),
            {.y_scale = 0x1p-4F},
            -3,
            -0.01},
        Row{"Celu", {}, MpfrCelu(1), {.y_scale = 0x1p-4F}, -3, -0.01},
        Row{"Celu",
            {Attribute::Float("alpha", 1.7F)},
            MpfrCelu(1.7F),
            {.y_scale = 0x1p-4F},
            -3,
            -0.01},
        Row{"Swish", {}, MpfrSwish(1), {.low = -128, .high = 128, .y_scale = 0x1p-4F}, -6, -1.3},
        Row{"Swish",
            {Attribute::Float("alpha", -1.7F)},
            MpfrSwish(-1.7F),
            {.low = -64, .high = 64, .y_scale = 0x1p-4F},
            1,
            6},
        Row{"Elu", {}, MpfrElu(1), {.y_scale = 0x1p-4F}, -3, -0.01},
        Row{"Elu",
            {Attribute::Float("alpha", 1.7F)},
            MpfrElu(1.7F),
            {.y_scale = 0x1p-4F},
            -3,
            -0.01},
        Row{"Elu", {Attribute::Float("alpha", -2)}, MpfrElu(-2), {}, -3, -0.01}),
    [](const auto& row) { return row.param.op + std::to_string(row.index); });

// The limits, element by element: -inf, inf, NaN.
TEST(TranscendentalLimits, AreTakenAtTheInfinities) {
  const Tensor x = Float({3}, {-kInfinity, kInfinity, kNan});
  struct Limit {
    const char* op;
    float low, high;
  };
  for (const auto& [op, low, high] :
       {Limit{"Tanh", -1, 1}, Limit{"Erf", -1, 1}, Limit{"Exp", 0, kInfinity},
        Limit{"Softplus", 0, kInfinity}, Limit{"Mish", 0, kInfinity}, Limit{"Gelu", 0, kInfinity},
        Limit{"Elu", -1, kInfinity}, Limit{"Selu", -1.7580993F, kInfinity},
        Limit{"Celu", -1, kInfinity}, Limit{"Swish", 0, kInfinity},
        Limit{"Sinh", -kInfinity, kInfinity}, Limit{"Cosh", kInfinity, kInfinity},
        Limit{"Asinh", -kInfinity, kInfinity}, Limit{"Atan", -0x1.921fb6p0F, 0x1.921fb6p0F}}) {
    for (const char* arithmetic : {"exact", "float32"}) {
      const std::vector<float> y = Floats({op, {}, {&x}, FloatType(), arithmetic});
      EXPECT_EQ(y[0], low) << op;
      EXPECT_EQ(y[1], high) << op;
      EXPECT_TRUE(std::isnan(y[2])) << op;
    }
  }
}

TEST(TranscendentalLimits, AreNotANumberOutsideTheDomain) {
  const Tensor x = Float({4}, {-1, 0, kInfinity, -kInfinity});
  for (const char* arithmetic : {"exact", "float32"}) {
    EXPECT_THAT(Integers({"Log", {}, {&x}, Int8Type(Q({1}, {5})), arithmetic}),
                ElementsAre(5, -128, 127, 5));
    EXPECT_THAT(Integers({"Sqrt", {}, {&x}, Int8Type(Q({1}, {5})), arithmetic}),
                ElementsAre(5, 5, 127, 5));
  }
  // 55 bits of mantissa, more than a double holds: below zero all the same.
  const Tensor wide = Stored(ElementType::kInt32Q, {1}, {-0x7fffffff}, Q({0x1.fffffep0F}));
  for (const char* op : {"Log", "Sqrt"}) {
    EXPECT_TRUE(std::isnan(Floats({op, {}, {&wide}, FloatType()})[0])) << op;
  }
}

// 9110917 * 1977232205 = 2^54 + 1 and 11599063 * 1553090841 = 2^54 - 1, which binary64 takes for
// 2^54.
TEST(TranscendentalLimits, AreOfTheRealBesideOne) {
  const Tensor above =
      Stored(ElementType::kInt32Q, {2}, {1977232205, -1977232205}, Q({0x1.160b0ap-31F}));
  const Tensor below =
      Stored(ElementType::kInt32Q, {2}, {1553090841, -1553090841}, Q({0x1.61f9aep-31F}));
  for (const char* op : {"Asin", "Acos", "Atanh"}) {
    for (const float y : Floats({op, {}, {&above}, FloatType()})) EXPECT_TRUE(std::isnan(y)) << op;
    for (const float y : Floats({op, {}, {&below}, FloatType()})) EXPECT_FALSE(std::isnan(y)) << op;
  }
  EXPECT_TRUE(std::isnan(Floats({"Acosh", {}, {&below}, FloatType()})[0]));
  // ln(2^55 - 1) / 2 = 19.0615...; sqrt(2 / 2^54) = 2^-26.5.
  EXPECT_THAT(Floats({"Atanh", {}, {&below}, FloatType()}),
              ElementsAre(0x1.30fc1ap4F, -0x1.30fc1ap4F));
  EXPECT_EQ(Floats({"Acos", {}, {&below}, FloatType()})[0], 0x1.6a09e6p-27F);
  EXPECT_EQ(Floats({"Acosh", {}, {&above}, FloatType()})[0], 0x1.6a09e6p-27F);
  // -1 itself, of a product of 54 bits.
  const Tensor end = Stored(ElementType::kInt32Q, {1}, {-0x80000000L}, Q({0x1p-31F}));
  EXPECT_EQ(Floats({"Atanh", {}, {&end}, FloatType()})[0], -kInfinity);
  EXPECT_EQ(Floats({"Acos", {}, {&end}, FloatType()})[0], 0x1.921fb6p1F);
}

// pi / 2 over the scale is 2143243715.5 and 8e-9 more; of the binary64 next to it, 8e-8 less.
TEST(Atan, HasLimitsThatAreNoBinary64) {
  const Tensor x = Float({2}, {kInfinity, -kInfinity});
  EXPECT_THAT(Integers({"Atan", {}, {&x}, Type(ElementType::kInt32Q, Q({0x1.92eb5cp-31F}))}),
              ElementsAre(2143243716, -2143243716));
}

// sin(10^22) is -0.8522008497671888017727... (K. C. Ng, "Argument reduction for huge arguments:
// good to the last bit", 1992), its cosine the root of what is left, its tangent their quotient.
TEST(Sin, IsThatOfTheWholeArgument) {
  Tensor x = *format::MakeTensor(ElementType::kDouble, {2});
  x.As<double>()[0] = 1e22;
  x.As<double>()[1] = std::numeric_limits<double>::infinity();
  const OutputType y{ElementType::kDouble, std::nullopt};
  for (const auto& [op, value] :
       {std::pair("Sin", -0.8522008497671888), std::pair("Cos", 0.52321478539513894),
        std::pair("Tan", -1.6287782256068988)}) {
    OpRun run{op, {}, {&x}, y};
    const Tensor result = *run.Run();
    EXPECT_EQ(result.As<double>()[0], value);
    EXPECT_TRUE(std::isnan(result.As<double>()[1]));
  }
}

// Far from every scale of 2^-1000: quotients of 2^-1100 times alpha, powers beyond binary64.
TEST(Transcendental, HoldsWhereBinary64Underflows) {
  Tensor x = *format::MakeTensor(ElementType::kDouble, {1});
  x.As<double>()[0] = -0x1p-1020;
  const OutputType y{ElementType::kDouble, std::nullopt};
  const auto of = [&](const char* op, std::vector<Attribute> attributes) {
    OpRun run{op, std::move(attributes), {&x}, y};
    return (*run.Run()).As<double>()[0];
  };
  EXPECT_EQ(of("Celu", {Attribute::Float("alpha", 0x1.8p100F)}), -0x1p-1020);
  EXPECT_EQ(of("Selu", {Attribute::Float("alpha", 0x1p100F), Attribute::Float("gamma", 0x1p100F)}),
            -0x1p-820);
  x.As<double>()[0] = -0x1p1020;
  EXPECT_EQ(of("Swish", {Attribute::Float("alpha", 0x1p100F)}), 0);
  EXPECT_EQ(of("Swish", {Attribute::Float("alpha", -0x1p100F)}), -0x1p1020);
}

// Roots that are rational can be ties: sqrt(6.25) = 2.5 to 2, sqrt(12.25) = 3.5 to 4; a neighbour
// is none.
TEST(Sqrt, RoundsARationalRootAsATie) {
  const Tensor x = Int8({4}, {25, 49, 26, 24}, Q({0.25F}));
  EXPECT_THAT(Integers({"Sqrt", {}, {&x}, Int8Type(Q({1}))}), ElementsAre(2, 4, 3, 2));
  // 46339 / 2 = 23169.5, and its neighbours by 2^-18.
  const Tensor wide =
      Stored(ElementType::kInt32Q, {3}, {2147302920, 2147302921, 2147302922}, Q({0x1p-2F}));
  EXPECT_THAT(Integers({"Sqrt", {}, {&wide}, Type(ElementType::kInt32Q, Q({1}))}),
              ElementsAre(23169, 23170, 23170));
}

// x - f(x) is positive and less than 2^-40 here: below ties that alone would go up; x e^(-x^2/2) at
// 19.5 is 2^-270.
TEST(Gelu, StaysBelowTheTiesItApproaches) {
  const Tensor x = Int8({3}, {15, 23, 39}, Q({0.5F}));
  for (const OpRun& run :
       {OpRun{"Gelu", {}, {&x}, Int8Type(Q({1}))}, OpRun{"Gelu", kTanhForm, {&x}, Int8Type(Q({1}))},
        OpRun{"Mish", {}, {&x}, Int8Type(Q({1}))}}) {
    EXPECT_THAT(Integers(run), ElementsAre(7, 11, 19));
  }
}

// softplus(x) is x + e^-x, and more: above ties that alone would go down.
TEST(Softplus, StaysAboveTheTiesItApproaches) {
  const Tensor x = Int8({3}, {17, 25, 41}, Q({0.5F}));
  EXPECT_THAT(Integers({"Softplus", {}, {&x}, Int8Type(Q({1}))}), ElementsAre(9, 13, 21));
}

// exact.S6: no 8192 bits tell these from ties, from above or from below.
TEST(TranscendentalLimits, TakeForATieWhatCannotBeToldFromIt) {
  const Tensor x = Float({2}, {10000.5F, 10001.5F});
  const OutputType y = Type(ElementType::kInt16Q, Q({1}));
  for (const OpRun& run : {OpRun{"Softplus", {}, {&x}, y}, OpRun{"Mish", {}, {&x}, y},
                           OpRun{"Gelu", {}, {&x}, y}, OpRun{"Gelu", kTanhForm, {&x}, y}}) {
    EXPECT_THAT(Integers(run), ElementsAre(10000, 10002)) << run.op;
  }
}

// Next to ties as far as 2^-7000: e^(-x^2 / 2) at 98.5.
TEST(Gelu, TellsATailOfSevenThousandBits) {
  const Tensor x = Float({3}, {29.5F, 59.5F, 97.5F});
  EXPECT_THAT(Integers({"Gelu", {}, {&x}, Int8Type(Q({1}))}), ElementsAre(29, 59, 97));
}

// The positive branch is x itself, ties included.
TEST(Elu, KeepsTiesOfItsPositiveBranch) {
  const Tensor x = Int8({3}, {5, 7, -100}, Q({0.5F}));
  EXPECT_THAT(Integers({"Elu", {}, {&x}, Int8Type(Q({1}))}), ElementsAre(2, 4, -1));
}

TEST(Exp, OverflowsOnlyInTheOutput) {
  const Tensor x = Float({4}, {88.73F, 88.7F, 1000, -1000});
  EXPECT_THAT(Floats({"Exp", {}, {&x}, FloatType()}),
              ElementsAre(kInfinity, TextbookFloat(MpfrExp, 88.7F), kInfinity, 0));
  EXPECT_THAT(Integers({"Exp", {}, {&x}, Type(ElementType::kUint8Q, Q({0x1p127F}))}),
              ElementsAre(2, 2, 255, 0));
}

// exp(89) is beyond binary32, half of it is not.
TEST(Sinh, OverflowsWhereHalfOfThePowerDoes) {
  const Tensor x = Float({4}, {89, -89, 90, -0x1p127F});
  for (const char* arithmetic : {"exact", "float32"}) {
    EXPECT_THAT(Floats({"Sinh", {}, {&x}, FloatType(), arithmetic}),
                ElementsAre(TextbookFloat(MpfrSinh, 89), TextbookFloat(MpfrSinh, -89), kInfinity,
                            -kInfinity));
    EXPECT_THAT(Floats({"Cosh", {}, {&x}, FloatType(), arithmetic}),
                ElementsAre(TextbookFloat(MpfrCosh, 89), TextbookFloat(MpfrCosh, 89), kInfinity,
                            kInfinity));
  }
}

// Half precision is rounded once, by the same bound.
TEST(Tanh, RoundsToHalfPrecisionOnce) {
  const Tensor x = AllStored(ElementType::kInt16Q, Q({0x1p-13F}));
  const OutputType half{ElementType::kFloat16, std::nullopt};
  OpRun run{"Tanh", {}, {&x}, half};
  const Tensor y = *run.Run();
  const std::vector<double> values = format::StoredValues(y);
  const std::vector<mpq_class> reals = TextbookReals(x);
  for (std::size_t i = 0; i < reals.size(); i += 7) {
    const mpq_class exact = TextbookValue(MpfrTanh, reals[i]);
    // 2^-12 of the binade is half an ulp of 11 bits, 2^-25 of the subnormals.
    int exponent = 0;
    std::frexp(exact.get_d(), &exponent);
    const mpq_class half_ulp(std::ldexp(1.0, std::max(exponent, -13) - 12));
    ASSERT_LE(abs(mpq_class(values[i]) - exact), half_ulp) << reals[i];
  }
}

TEST(Tanh, TakesDoublesAndRefusesIntegers) {
  Tensor x = *format::MakeTensor(ElementType::kDouble, {2});
  x.As<double>()[0] = 0.5;
  x.As<double>()[1] = -1e-300;
  OpRun run{"Tanh", {}, {&x}, {ElementType::kDouble, std::nullopt}};
  const Tensor y = *run.Run();
  EXPECT_EQ(y.As<double>()[0], 0x1.d9353d7568af3p-2);  // 0.46211715726000975850...
  EXPECT_EQ(y.As<double>()[1], -1e-300);
  const Tensor integers = Int64({1});
  EXPECT_NE(ErrorOf({"Tanh", {}, {&integers}, {ElementType::kInt64, std::nullopt}}), "");
}

}  // namespace
}  // namespace qtx::reference::testing::transcendental_test
