#include "generator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
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
                          GeneratorKind::kSaturate, GeneratorKind::kRamp, GeneratorKind::kOneHot,
                          GeneratorKind::kNormal, GeneratorKind::kSparse, GeneratorKind::kExtreme,
                          GeneratorKind::kSaturatingPairs}) {
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

format::TensorType Plain(ElementType element) {
  format::TensorType type;
  type.elem_type = element;
  return type;
}

std::vector<float> Floats(GeneratorKind kind, std::int64_t count) {
  const auto tensor = Generate({kind, 7}, Plain(ElementType::kFloat), {count}, std::nullopt);
  EXPECT_TRUE(tensor.has_value());
  const auto values = tensor->As<float>();
  return {values.begin(), values.end()};
}

// The pinned values below are not this code's: they were computed by a program in another language,
// written from the text of spec/conformance_cases.md alone.
TEST(Generate, IntegersAreThoseOfTheSpecification) {
  const format::TensorType type = Int8(1, 3);
  const auto first = [&type](GeneratorKind kind) { return Integers(kind, type, 8, 7); };
  using K = GeneratorKind;
  EXPECT_THAT(first(K::kUniform), ElementsAre(87, -100, -126, 75, 90, -111, 118, 126));
  EXPECT_THAT(first(K::kNormal), ElementsAre(-21, -22, 44, 9, 47, -9, 7, -19));
  EXPECT_THAT(first(K::kBoundary), ElementsAre(2, 3, 4, 126, 3, 3, 0, -127));
  EXPECT_THAT(first(K::kSaturate), ElementsAre(127, -128, -128, 127, -128, 127, -128, -128));
  EXPECT_THAT(first(K::kExtreme), ElementsAre(-1, 61, 127, -24, -1, 10, 5, 6));
  EXPECT_THAT(first(K::kRamp), ElementsAre(-121, -120, -119, -118, -117, -116, -115, -114));
  EXPECT_THAT(first(K::kOneHot), ElementsAre(3, 3, 3, 3, 3, 3, 3, 127));
  EXPECT_THAT(Integers(K::kTies, Int8(0.5F, 3), 8, 7, 2.0F),
              ElementsAre(-111, -31, -23, -75, 77, 29, 105, -99));
}

TEST(Generate, IntegersOfOtherWidthsAreThoseOfTheSpecification) {
  const auto first = [](GeneratorKind kind, ElementType element, std::int64_t count) {
    return Integers(kind, Plain(element), count, 7);
  };
  using K = GeneratorKind;
  EXPECT_THAT(first(K::kUniform, ElementType::kUint4, 6), ElementsAre(7, 12, 2, 11, 10, 1));
  EXPECT_THAT(first(K::kNormal, ElementType::kInt32, 3),
              ElementsAre(-409944063, -441212927, 718323711));
  EXPECT_THAT(first(K::kExtreme, ElementType::kInt32, 4), ElementsAre(-12346908, 0, -184566, 3));
  EXPECT_THAT(first(K::kExtreme, ElementType::kInt64, 3),
              ElementsAre(-8152604, 1498, 17124143006924542));
  const auto unsigned64 =
      Generate({K::kUniform, 7}, Plain(ElementType::kUint64), {2}, std::nullopt);
  ASSERT_TRUE(unsigned64.has_value());
  EXPECT_THAT(unsigned64->As<std::uint64_t>(),
              ElementsAre(16414461637747150295U, 9533061409449731612U));
}

TEST(Generate, FloatsAreThoseOfTheSpecification) {
  EXPECT_THAT(Floats(GeneratorKind::kUniform, 2), ElementsAre(-0x1.be452p-1F, -0x1.ccf2p-3F));
  EXPECT_THAT(Floats(GeneratorKind::kNormal, 3),
              ElementsAre(-0x1.86f4p-1F, -0x1.a4c6p-1F, 0x1.5686p+0F));
  EXPECT_THAT(Floats(GeneratorKind::kExtreme, 4),
              ElementsAre(-0x1.fffffep+127F, 0x1p-126F, -0x1.85a1ecp+89F, 0x1p-149F));
  EXPECT_EQ(Floats(GeneratorKind::kSparse, 14)[13], 0x1.f15e6p+0F);
}

TEST(Generate, PairsLieAlongTheirAxis) {
  const auto pairs = [](const format::Dims& dims, std::int64_t axis) {
    return format::UnpackIntegers(
        *Generate({GeneratorKind::kSaturatingPairs, 7, axis}, Int8(1, 0), dims, std::nullopt));
  };
  EXPECT_THAT(pairs({2, 5}, -1),
              ElementsAre(127, 127, -128, -128, -128, 127, 127, -128, -128, 118));
  EXPECT_THAT(pairs({5, 2}, 0), ElementsAre(127, 127, 127, 127, -128, -128, -128, -128, -128, 118));
  EXPECT_EQ(pairs({5, 2}, 0), pairs({5, 2}, -2));
  const format::TensorType type = Int8(1, 0);
  EXPECT_EQ(
      Generate({GeneratorKind::kSaturatingPairs, 7, 2}, type, {2, 2}, std::nullopt).error().code,
      ErrorCode::kInvalid);
  EXPECT_TRUE(Generate({GeneratorKind::kSaturatingPairs, 7}, type, {}, std::nullopt).has_value());
}

// What the kind is for: sums of two products beyond 16 bits, most of the time.
TEST(Generate, ProductsOfSaturatingPairsPass16Bits) {
  const auto a = Integers(GeneratorKind::kSaturatingPairs, Plain(ElementType::kUint8), 1000, 1);
  const auto b = Integers(GeneratorKind::kSaturatingPairs, Int8(1, 0), 1000, 2);
  int beyond = 0;
  for (std::size_t k = 0; k < 1000; k += 2) {
    const std::int64_t sum = a[k] * b[k] + a[k + 1] * b[k + 1];
    beyond += sum > 32767 || sum < -32768 ? 1 : 0;
  }
  EXPECT_GT(beyond, 250);
  EXPECT_LT(beyond, 500);
}

TEST(Generate, NormalHasItsMeanAndDeviation) {
  const auto values = Integers(GeneratorKind::kNormal, Int8(1, 0), 100000);
  double sum = 0;
  double squares = 0;
  for (const std::int64_t value : values) {
    sum += static_cast<double>(value);
    squares += static_cast<double>(value * value);
  }
  // Sigma is 31 LSB; the standard error of the mean of 100,000 is 0.1. Clamping at 4 sigma and the
  // rounding to integers change the deviation by less than 0.1.
  EXPECT_NEAR(sum / 1e5, 0, 0.5);
  EXPECT_NEAR(std::sqrt(squares / 1e5), 31, 0.5);
}

TEST(Generate, SparseIsRealZeroSevenTimesInEight) {
  const auto values = Integers(GeneratorKind::kSparse, Int8(1, 3), 80000);
  EXPECT_NEAR(static_cast<double>(std::ranges::count(values, 3)), 70000 + 10000.0 / 256, 400);
  EXPECT_GT(std::set(values.begin(), values.end()).size(), 250U);
}

TEST(Generate, ExtremeTakesEveryOrderOfMagnitudeAlike) {
  const auto values = Integers(GeneratorKind::kExtreme, Plain(ElementType::kInt32), 33000);
  std::vector<int> by_bits(34);
  for (const std::int64_t value : values) {
    ++by_bits[static_cast<std::size_t>(
        std::bit_width(static_cast<std::uint64_t>(std::abs(value))))];
  }
  // The widest are clamped to the ends of the range.
  for (std::size_t bits = 0; bits < 31; ++bits) EXPECT_NEAR(by_bits[bits], 1000, 150) << bits;
}

TEST(Generate, EveryKindFillsEveryTypeWithinItsRange) {
  for (std::int64_t code = 1; code <= 1101; ++code) {
    const auto element = format::ElementTypeFromCode(code);
    if (!element || format::BitWidth(*element) == 0) continue;
    if (*element == ElementType::kComplex64 || *element == ElementType::kComplex128) continue;
    format::TensorType type = Plain(*element);
    if (format::IsQuantized(*element)) type.quantization = Int8(1, 0).quantization;
    for (const GeneratorName& entry : kGenerators) {
      const auto tensor = Generate({entry.kind, 5}, type, {3, 7}, 1.0F);
      ASSERT_TRUE(tensor.has_value()) << format::Name(*element) << " " << entry.name;
      EXPECT_EQ(*tensor, *Generate({entry.kind, 5}, type, {3, 7}, 1.0F)) << entry.name;
      if (!format::IsIntegerStorage(*element) || format::BitWidth(*element) > 32) continue;
      const format::IntegerRange range = format::StorageRange(*element);
      for (const std::int64_t value : format::UnpackIntegers(*tensor)) {
        EXPECT_TRUE(value >= range.min && value <= range.max) << value << " " << entry.name;
      }
    }
  }
}

// SplitMix64 with seed 0 gives e220a8397b1dcdaf, 6e789e6aa1b965f4 and 06c45d188009454f (Vigna's
// splitmix64.c): modulo 1024 these are 431, 500 and 335, modulo 8 they are 7, 4 and 7.
TEST(UniformParameters, AreTheRemaindersOfTheStream) {
  EXPECT_THAT(UniformScales(0, 3, 0.5),
              ElementsAre(432 * 0x1p-11F, 501 * 0x1p-11F, 336 * 0x1p-11F));
  EXPECT_THAT(UniformOffsets(0, 3, -3, 4), ElementsAre(4, 1, 4));
}

TEST(ExtremeScales, ReachBothEndsAndStayPositiveAndFinite) {
  const auto scales = ExtremeScales(3, 1000);
  EXPECT_EQ(*std::ranges::min_element(scales), std::numeric_limits<float>::denorm_min());
  EXPECT_EQ(*std::ranges::max_element(scales), std::numeric_limits<float>::max());
  EXPECT_THAT(scales, Each(testing::AllOf(testing::Gt(0.0F), testing::Lt(INFINITY))));
}

}  // namespace
}  // namespace qtx::conformance
