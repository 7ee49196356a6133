#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "qtx/conformance/diagnosis.h"

namespace qtx::conformance {
namespace {

using format::ElementType;
using testing::ElementsAre;
using testing::Pair;

format::Tensor Floats(std::initializer_list<float> values) {
  format::Tensor tensor =
      *format::MakeTensor(ElementType::kFloat, {static_cast<std::int64_t>(values.size())});
  std::ranges::copy(values, tensor.As<float>().begin());
  return tensor;
}

format::Tensor Integers(ElementType type, std::vector<std::int64_t> values) {
  format::Tensor tensor = *format::MakeTensor(type, {static_cast<std::int64_t>(values.size())});
  format::PackIntegers(values, tensor);
  return tensor;
}

TEST(Compare, FindsNoDifferenceBetweenEquals) {
  EXPECT_FALSE(Compare("y", Floats({1, NAN}), Floats({1, -NAN}), std::nullopt));
  EXPECT_FALSE(Compare("y", Floats({0.0F}), Floats({-0.0F}), std::nullopt));
}

TEST(Compare, CountsIntegersInLsb) {
  const auto difference = Compare("y", Integers(ElementType::kInt8, {1, 2, -128, 4}),
                                  Integers(ElementType::kInt8, {1, 3, 127, 5}), 1000);
  ASSERT_TRUE(difference.has_value());
  EXPECT_EQ(difference->unit, "LSB");
  EXPECT_EQ(difference->differing, 3);
  EXPECT_EQ(difference->elements, 4);
  EXPECT_THAT(difference->histogram, ElementsAre(Pair(-255, 1), Pair(-1, 2)));
  EXPECT_EQ(difference->first[0].index, 1);
  EXPECT_EQ(difference->first[0].got, "2");
  EXPECT_EQ(
      Describe(*difference),
      "output 'y' differs in 3 of 4 elements by -255 to -1 LSB; first at 1: got 2, expected 3");
}

TEST(Compare, CountsFloatsInUlpAcrossZero) {
  const float tiny = std::numeric_limits<float>::denorm_min();
  const auto difference = Compare("y", Floats({tiny}), Floats({-tiny}), std::nullopt);
  ASSERT_TRUE(difference.has_value());
  EXPECT_THAT(difference->histogram, ElementsAre(Pair(2, 1)));
  EXPECT_FALSE(Compare("y", Floats({tiny}), Floats({-tiny}), 2));
}

TEST(Compare, NeverTakesNanForANumber) {
  EXPECT_TRUE(Compare("y", Floats({NAN}), Floats({1}), std::numeric_limits<std::int64_t>::max()));
}

TEST(Compare, NamesDimsAndTypesThatDisagree) {
  const auto dims = Compare("y", Floats({1}), Floats({1, 2}), std::nullopt);
  EXPECT_EQ(Describe(*dims), "output 'y' has dims [1], expected [2]");
  const auto type = Compare("y", Integers(ElementType::kInt8, {1}),
                            Integers(ElementType::kUint8, {1}), std::nullopt);
  EXPECT_EQ(type->mismatch, "element type INT8, expected UINT8");
}

TEST(Compare, SeesSubByteElements) {
  const auto difference = Compare("y", Integers(ElementType::kInt4, {1, -8, 3}),
                                  Integers(ElementType::kInt4, {1, 7, 3}), std::nullopt);
  ASSERT_TRUE(difference.has_value());
  EXPECT_EQ(difference->first[0].index, 1);
  EXPECT_THAT(difference->histogram, ElementsAre(Pair(-15, 1)));
}

// numpy.allclose of 1e-3 and 1e-7: 1000 may be 1 off, 0 only 1e-7; integers not at all.
TEST(Compare, HoldsThirdPartyFloatsToTheirOwnTolerance) {
  Case c;
  c.close = Closeness{.relative = 1e-3, .absolute = 1e-7, .because = "ONNX"};
  EXPECT_FALSE(Compare(c, "y", Floats({1000.9F, 5e-8F}), Floats({1000, 0})));
  EXPECT_TRUE(Compare(c, "y", Floats({1001.1F}), Floats({1000})));
  EXPECT_TRUE(Compare(c, "y", Floats({2e-7F}), Floats({0})));
  EXPECT_TRUE(Compare(c, "y", Integers(ElementType::kInt16, {1000}),
                      Integers(ElementType::kInt16, {1001})));
}

TEST(Compare, FindsInfinityCloseToItselfOnly) {
  Case c;
  c.close = Closeness{.relative = 1, .absolute = 1, .because = "any"};
  EXPECT_FALSE(Compare(c, "y", Floats({INFINITY, NAN}), Floats({INFINITY, NAN})));
  EXPECT_TRUE(Compare(c, "y", Floats({1}), Floats({INFINITY})));
  EXPECT_TRUE(Compare(c, "y", Floats({-INFINITY}), Floats({INFINITY})));
  EXPECT_TRUE(Compare(c, "y", Floats({INFINITY}), Floats({1})));
  EXPECT_TRUE(Compare(c, "y", Floats({NAN}), Floats({1})));
}

}  // namespace
}  // namespace qtx::conformance
