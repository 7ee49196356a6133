#include "generator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace qtx::conformance {
namespace {

using format::ElementType;
using testing::Each;
using testing::ElementsAre;

format::TensorType Int8(float scale, std::int32_t offset) {
  format::TensorType type;
  type.elem_type = ElementType::kInt8Q;
  type.quantization.emplace();
  type.quantization->scale = {scale};
  type.quantization->offset = {offset};
  return type;
}

std::vector<std::int64_t> Integers(GeneratorKind kind, const format::TensorType& type,
                                   std::int64_t count, std::uint64_t seed = 1,
                                   std::optional<float> target = std::nullopt) {
  const auto tensor = Generate({kind, seed}, type, {count}, target);
  EXPECT_TRUE(tensor.has_value());
  return format::UnpackIntegers(*tensor);
}

// The first outputs of the published SplitMix64 for seed 1234567.
TEST(Random, IsSplitMix64) {
  Random random(1234567);
  EXPECT_EQ(random.Next(), 6457827717110365317U);
  EXPECT_EQ(random.Next(), 3203168211198807973U);
  EXPECT_EQ(random.Next(), 9817491932198370423U);
}

TEST(Generate, UniformReachesTheWholeRangeAndDependsOnTheSeed) {
  const auto values = Integers(GeneratorKind::kUniform, Int8(1, 0), 10000);
  EXPECT_EQ(std::set(values.begin(), values.end()).size(), 256U);
  EXPECT_EQ(values, Integers(GeneratorKind::kUniform, Int8(1, 0), 10000));
  EXPECT_NE(values, Integers(GeneratorKind::kUniform, Int8(1, 0), 10000, 2));
}

TEST(Generate, StaysWithinQuantMinAndQuantMax) {
  format::TensorType type = Int8(1, 0);
  type.quantization->quant_min = -3;
  type.quantization->quant_max = 5;
  for (const auto kind : {GeneratorKind::kUniform, GeneratorKind::kBoundary, GeneratorKind::kTies,
                          GeneratorKind::kSaturate, GeneratorKind::kRamp, GeneratorKind::kOneHot}) {
    EXPECT_THAT(Integers(kind, type, 100), Each(testing::AllOf(testing::Ge(-3), testing::Le(5))));
  }
}

TEST(Generate, TiesLieHalfwayBetweenTwoLsbOfTheTarget) {
  // Scale 0.5 onto scale 2: a quarter of an LSB each, so distances 2 mod 4 from the offset tie.
  for (const std::int64_t value : Integers(GeneratorKind::kTies, Int8(0.5F, 3), 200, 1, 2.0F)) {
    EXPECT_EQ(std::abs((value - 3) % 4), 2) << value;
  }
}

TEST(Generate, FloatTiesAreOddMultiplesOfHalfTheScale) {
  format::TensorType type;
  type.elem_type = ElementType::kFloat;
  const auto tensor = Generate({GeneratorKind::kTies, 1}, type, {100}, 0.25F);
  ASSERT_TRUE(tensor.has_value());
  for (const float value : tensor->As<float>()) {
    EXPECT_EQ(std::fabs(std::fmod(value / 0.25F, 1.0F)), 0.5F);
  }
}

TEST(Generate, RampOneHotZeroAndSaturateAreWhatTheySay) {
  EXPECT_THAT(Integers(GeneratorKind::kRamp, Int8(1, 0), 3, 0), ElementsAre(-128, -127, -126));
  EXPECT_THAT(Integers(GeneratorKind::kOneHot, Int8(1, 7), 3, 4), ElementsAre(7, 127, 7));
  EXPECT_THAT(Integers(GeneratorKind::kZero, Int8(1, 7), 2), ElementsAre(7, 7));
  EXPECT_THAT(Integers(GeneratorKind::kSaturate, Int8(1, 0), 50), Each(testing::AnyOf(-128, 127)));
}

TEST(Generate, BipolarHasNoZero) {
  format::TensorType type = Int8(1, 0);
  type.elem_type = ElementType::kBipolar1Q;
  for (const auto kind : {GeneratorKind::kUniform, GeneratorKind::kZero, GeneratorKind::kRamp}) {
    EXPECT_THAT(Integers(kind, type, 20), Each(testing::AnyOf(-1, 1)));
  }
}

TEST(Generate, FillsPackedAndFloatTypes) {
  for (const auto element : {ElementType::kFloat, ElementType::kDouble, ElementType::kFloat16,
                             ElementType::kFloat8E4M3FN, ElementType::kFloat4E2M1,
                             ElementType::kInt64, ElementType::kBool, ElementType::kUint2}) {
    format::TensorType type;
    type.elem_type = element;
    const auto tensor = Generate({GeneratorKind::kUniform, 3}, type, {3, 5}, std::nullopt);
    ASSERT_TRUE(tensor.has_value()) << format::Name(element);
    EXPECT_TRUE(std::ranges::any_of(tensor->bytes, [](std::byte b) { return b != std::byte{0}; }))
        << format::Name(element);
  }
}

TEST(Generate, ToleratesParametersThatBreakTheRules) {
  format::TensorType type = Int8(0, 1000);
  type.quantization->axis = {5};
  type.quantization->quant_min = 9;
  type.quantization->quant_max = -9;
  EXPECT_EQ(Integers(GeneratorKind::kBoundary, type, 10).size(), 10U);
  type.quantization->scale.clear();
  EXPECT_EQ(Integers(GeneratorKind::kTies, type, 10, 1, 1.0F).size(), 10U);
}

}  // namespace
}  // namespace qtx::conformance
