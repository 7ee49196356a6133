// sigmoid.S1 to sigmoid.S3.
#include "unary_textbook.h"

namespace qtx::reference::testing {
namespace {

using ::testing::ElementsAre;

void MpfrSigmoid(mpfr_ptr x) {  // 1 / (1 + e^-x)
  mpfr_neg(x, x, MPFR_RNDN);
  mpfr_exp(x, x, MPFR_RNDN);
  mpfr_add_ui(x, x, 1, MPFR_RNDN);
  mpfr_ui_div(x, 1, x, MPFR_RNDN);
}

TEST(Sigmoid, EqualsFourHundredBitsEverywhere) {
  ExpectTextbookEverywhere("Sigmoid", {}, MpfrSigmoid, {.y_scale = 0x1p-8F});
}

// sigmoid(0) = 1/2, at scale 1 a tie: to even 0, plus 3.
TEST(Sigmoid, RoundsItsOneTieToEven) {
  const Tensor x = Int8({1}, {5}, Q({1.0F}, {5}));
  OpRun run{"Sigmoid", {}, {&x}, Int8Type(Q({1.0F}, {3}))};
  EXPECT_EQ(format::UnpackIntegers(*run.Run()), Values{3});
  EXPECT_EQ(run.counters.exact_fallbacks, 1U);
}

TEST(Sigmoid, HasLimitsAtTheInfinitiesAndPassesNan) {
  const float infinity = std::numeric_limits<float>::infinity();
  const Tensor x = Float({3}, {-infinity, infinity, std::nanf("")});
  for (const char* arithmetic : {"exact", "float32"}) {
    EXPECT_THAT(Integers({"Sigmoid", {}, {&x}, Int8Type(Q({0x1p-6F}, {7})), arithmetic}),
                ElementsAre(7, 71, 7));
  }
}

// float32: the binary32 nearest to sigmoid(binary32 x), then one division and rounding.
TEST(Sigmoid, IsOneOperationOfBinary32) {
  const Tensor x = AllStored(ElementType::kInt8Q, Q({0.1F}, {3}));
  const Tensor reals = [] {
    std::vector<float> values;
    for (int v = -128; v < 128; ++v) values.push_back(static_cast<float>(v - 3) * 0.1F);
    return Float({1, 256}, values);
  }();
  Values expected;
  for (const float real : reals.As<float>()) {
    const float y = TextbookFloat(MpfrSigmoid, real);
    expected.push_back(std::llrint(static_cast<double>(y / 0.004F)) - 128);
  }
  EXPECT_EQ(Integers({"Sigmoid", {}, {&x}, Int8Type(Q({0.004F}, {-128})), "float32"}), expected);
}

}  // namespace
}  // namespace qtx::reference::testing
