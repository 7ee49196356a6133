// tflite.S19.
#include "arithmetic/fixed16.h"

#include <gtest/gtest.h>

#include <cmath>

namespace qtx::reference {
namespace {

std::int16_t Raw(int value) { return static_cast<std::int16_t>(value); }

// By hand, in the derivations of conformance/cases/arithmetic/tflite/lstm.yaml.
TEST(Fixed16, FollowsTheStepsOfTheClause) {
  EXPECT_EQ(Tanh16(2048, 3), 15136);
  EXPECT_EQ(Tanh16(-16384, 0), -15136);
  EXPECT_EQ(Tanh16(-32768, 3), -32767);
  EXPECT_EQ(Logistic16(32767), 32756);
  EXPECT_EQ(Logistic16(0), 1 << 14);
  EXPECT_EQ(Tanh16(0, 6), 0);
}

// Each product and quotient is off by at most 2^-15, the series by (1/8)^5 / 120. A wrong digit of
// the exponent, or a Newton step too few, is off by far more than 20 units.
TEST(Fixed16, LogisticIsNearTheFunctionEverywhere) {
  for (int x = -32768; x < 32768; ++x) {
    const double real = 32768 / (1 + std::exp(-x * 0x1p-12));
    ASSERT_NEAR(Logistic16(Raw(x)), real, 20) << x;
  }
}

TEST(Fixed16, TanhIsNearTheFunctionEverywhere) {
  for (int bits = 0; bits <= 6; ++bits) {
    for (int x = -32768; x < 32768; ++x) {
      const double real = 32768 * std::tanh(std::ldexp(x, bits - 15));
      ASSERT_NEAR(Tanh16(Raw(x), bits), real, 30) << x << " of " << bits;
    }
  }
}

TEST(Fixed16, TanhIsOddAndLogisticAddsUpToTheGreatestValue) {
  for (int x = 1; x < 32768; ++x) {
    ASSERT_EQ(Tanh16(Raw(-x), 3), -Tanh16(Raw(x), 3)) << x;
    ASSERT_EQ(Logistic16(Raw(-x)) + Logistic16(Raw(x)), 32767) << x;
  }
}

}  // namespace
}  // namespace qtx::reference
