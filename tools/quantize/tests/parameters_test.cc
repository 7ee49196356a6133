// Scale and offset of ranges, against rational arithmetic of another language.
#include "qtx/quantize/parameters.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace qtx::quantize {
namespace {

using format::ElementType;
using format::Scheme;

struct Row {
  double min, max;
  TypeSpec spec;
  float scale;  // 0: refused
  std::int32_t offset;
};

// Source: derive_parameters.py.
const std::vector<Row> kRows = {
#include "parameters.inc"
};

TEST(ChooseParameters, GivesWhatRationalArithmeticGives) {
  for (const Row& row : kRows) {
    SCOPED_TRACE(testing::Message()
                 << row.min << " to " << row.max << " " << format::Name(row.spec.storage) << " "
                 << format::Name(row.spec.scheme) << (row.spec.narrow ? " narrow" : ""));
    const auto found = ChooseParameters({row.min, row.max}, row.spec);
    ASSERT_EQ(found.has_value(), row.scale != 0);
    if (!found.has_value()) continue;
    EXPECT_EQ(found->scale, row.scale);
    EXPECT_EQ(found->offset, row.offset);
  }
}

// Where rounding the scale to nearest would let an end pass the stored range, rounding up does not.
TEST(ChooseParameters, StoresBothEndsWithinHalfAnLsb) {
  for (const Row& row : kRows) {
    if (row.scale == 0) continue;
    const auto found = ChooseParameters({row.min, row.max}, row.spec);
    ASSERT_TRUE(found.has_value());
    for (const double end : {row.min, row.max}) {
      const auto stored = StoredOf(end, *found, StoredRange(row.spec));
      const double error =
          end / static_cast<double>(found->scale) - static_cast<double>(stored - found->offset);
      EXPECT_LE(std::abs(error), 0.5) << end << " " << format::Name(row.spec.storage);
    }
  }
}

TEST(ChooseParameters, StoresZeroAsTheOffset) {
  for (const Row& row : kRows) {
    if (row.scale == 0) continue;
    const auto found = ChooseParameters({row.min, row.max}, row.spec);
    EXPECT_EQ(StoredOf(0, *found, StoredRange(row.spec)), found->offset);
  }
}

TEST(ChooseParameters, RefusesWhatIsNoRange) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  for (const Range& range : {Range{nan, 1}, Range{0, nan}, Range{-infinity, 0}, Range{0, infinity},
                             Range{1, -1}, Range{0, 1e300}})
    EXPECT_FALSE(ChooseParameters(range, {}).has_value());
}

TEST(ChooseParameters, SaysWhyNegativeValuesHaveNoUnsignedSymmetricForm) {
  const auto found = ChooseParameters({-1, 1}, {ElementType::kUint8, Scheme::kSymmetric});
  ASSERT_FALSE(found.has_value());
  EXPECT_EQ(found.error().message,
            "found values from -0x1p+0, expected none below 0 for a symmetric scheme of an "
            "unsigned storage");
}

// 1 / 127 is no power of two: 2^-6 is the least above it. 0.02 lies between 2^-6 and 2^-5.
TEST(ChooseParameters, KeepsToTheLeastScale) {
  const TypeSpec pow2{ElementType::kInt8, Scheme::kSymmetricPow2};
  EXPECT_EQ(ChooseParameters({0, 1}, pow2)->scale, 0x1p-6F);
  EXPECT_EQ(ChooseParameters({0, 1}, pow2, 0.02F)->scale, 0x1p-5F);
  EXPECT_EQ(ChooseParameters({0, 1}, {ElementType::kInt8, Scheme::kSymmetric}, 0.02F)->scale,
            0.02F);
}

// TFLite's 8-bit specification: Softmax and Logistic 1/256 and -128, Tanh 1/128 and 0, Log_softmax
// 16/256 and 127; its 16-bit kernels 1/32768 and 0 for all of them.
TEST(FixedParameters, AreThoseOfTflite) {
  const TypeSpec int8{};
  EXPECT_EQ(*FixedParameters({0, 1}, int8), (Parameters{0x1p-8F, -128}));
  EXPECT_EQ(*FixedParameters({-1, 1}, int8), (Parameters{0x1p-7F, 0}));
  EXPECT_EQ(*FixedParameters({-16, 0}, int8), (Parameters{0x1p-4F, 127}));
  const TypeSpec int16{ElementType::kInt16, Scheme::kSymmetric};
  EXPECT_EQ(*FixedParameters({0, 1}, int16), (Parameters{0x1p-15F, 0}));
  EXPECT_EQ(*FixedParameters({-1, 1}, int16), (Parameters{0x1p-15F, 0}));
}

// 2.5 LSB is a tie and goes to 2, 3.5 to 4; the offset comes after.
TEST(StoredOf, SendsTiesToEvenBeforeTheOffset) {
  const format::IntegerRange all{-128, 127};
  EXPECT_EQ(StoredOf(5, {2, 3}, all), 5);
  EXPECT_EQ(StoredOf(7, {2, 3}, all), 7);
  EXPECT_EQ(StoredOf(-5, {2, 3}, all), 1);
  EXPECT_EQ(StoredOf(1e300, {2, 3}, all), 127);
  EXPECT_EQ(StoredOf(-std::numeric_limits<double>::infinity(), {2, 3}, all), -128);
  EXPECT_EQ(StoredOf(std::numeric_limits<double>::quiet_NaN(), {2, 3}, all), 3);
}

}  // namespace
}  // namespace qtx::quantize
