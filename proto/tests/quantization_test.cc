#include "qtx/format/quantization.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "qtx/format/levels.h"
#include "qtx/format/tensor_type.h"
#include "tests/samples.h"

namespace qtx::format {
namespace {

using testing::ElementsAre;

Quantization Over(std::vector<std::int64_t> axis, std::vector<std::int64_t> block_shape = {}) {
  Quantization q;
  q.axis = std::move(axis);
  q.block_shape = std::move(block_shape);
  return q;
}

// The definition, by walking coordinates: quantization.S2.
std::int64_t Expected(const Quantization& q, const Dims& dims, std::int64_t element) {
  Dims coordinates(dims.size());
  for (std::size_t i = dims.size(); i-- > 0;) {
    coordinates[i] = element % dims[i];
    element /= dims[i];
  }
  std::int64_t index = 0;
  for (std::size_t i = 0; i < q.axis.size(); ++i) {
    const auto axis = static_cast<std::size_t>(q.axis[i]);
    const std::int64_t block = q.block_shape.empty() ? 1 : q.block_shape[i];
    index = index * ((dims[axis] + block - 1) / block) + coordinates[axis] / block;
  }
  return index;
}

TEST(ParameterMap, GivesEachElementTheParameterOfItsBlock) {
  const Dims dims = {3, 4, 5};
  const Quantization cases[] = {Over({}),        Over({1}),           Over({2, 0}),
                                Over({0, 1, 2}), Over({1}, {3}),      Over({2, 1}, {2, 3}),
                                Over({0}, {7}),  Over({1, 0}, {4, 1})};
  for (const Quantization& q : cases) {
    const ParameterMap map(q, dims);
    std::int64_t largest = 0;
    for (std::int64_t element = 0; element < 60; ++element) {
      ASSERT_EQ(map(element), Expected(q, dims, element)) << ToString(q.axis) << " " << element;
      largest = std::max(largest, map(element));
    }
    EXPECT_EQ(map.count(), largest + 1);
    EXPECT_EQ(map.per_tensor(), q.axis.empty());
  }
}

TEST(ParameterDims, CountsAShortLastBlock) {
  EXPECT_THAT(*ParameterDims(Over({1, 0}, {4, 2}), Dims{6, 9}), ElementsAre(3, 3));
  EXPECT_THAT(*ParameterDims(Over({0}), Dims{0, 9}), ElementsAre(0));
  EXPECT_TRUE(ParameterDims(Over({}), Dims{6, 9})->empty());
}

TEST(ParameterDims, DoesNotOverflowOnTheLargestBlock) {
  EXPECT_THAT(*ParameterDims(Over({0}, {std::numeric_limits<std::int64_t>::max()}), Dims{5}),
              ElementsAre(1));
}

TEST(ParameterDims, RefusesAxesAndBlocksThatMeanNothing) {
  for (const Quantization& q :
       {Over({2}), Over({-1}), Over({0, 0}), Over({0}, {0}), Over({0}, {1, 1}), Over({}, {1})}) {
    const auto dims = ParameterDims(q, Dims{2, 3});
    ASSERT_FALSE(dims.has_value()) << ToString(q.axis);
    EXPECT_EQ(dims.error().code, ErrorCode::kInvalid);
  }
}

TEST(StoredRange, IsTheStoragesNarrowedByBothBounds) {
  Quantization q = PerTensor(1);
  EXPECT_EQ(StoredRange(ElementType::kInt4Q, q), (IntegerRange{-8, 7}));
  q.quant_min = -7;
  EXPECT_EQ(StoredRange(ElementType::kInt4Q, q), (IntegerRange{-7, 7}));
  q.quant_max = 3;
  EXPECT_EQ(StoredRange(ElementType::kInt4Q, q), (IntegerRange{-7, 3}));
}

TEST(SerializeQuantization, ReadsBackEveryRandomOne) {
  TypeGenerator types(1);
  for (int i = 0; i < 500; ++i) {
    const Quantization q = *types.Next().quantization;
    const auto read = ParseQuantization(SerializeQuantization(q));
    ASSERT_TRUE(read.has_value());
    ASSERT_EQ(*read, q);
  }
}

TEST(SerializeQuantization, WritesTheNumbersOfTheSpec) {
  Quantization q = PerTensor(1.0F, {-1});
  q.axis = {2};
  q.quant_min = -1;
  q.scheme = Scheme::kSymmetricUint8;
  // Field 1 packed float 1.0; 2 packed sint32 (zigzag -1 = 1); 3 packed 2; 7 sint64 -1; 9 enum 5.
  EXPECT_EQ(SerializeQuantization(q), std::string("\x0A\x04\x00\x00\x80\x3F"
                                                  "\x12\x01\x01"
                                                  "\x1A\x01\x02"
                                                  "\x38\x01"
                                                  "\x48\x05",
                                                  16));
}

TEST(ParseQuantization, KeepsFieldsItDoesNotKnow) {
  const std::string future = "\xA2\x06\x02hi";  // field 100, two bytes
  const auto q = ParseQuantization(SerializeQuantization(PerTensor(2)) + future);
  ASSERT_TRUE(q.has_value());
  EXPECT_EQ(q->unknown_fields, future);
  EXPECT_EQ(SerializeQuantization(*q), SerializeQuantization(PerTensor(2)) + future);
}

TEST(ParseQuantization, RefusesBytesThatAreNone) {
  EXPECT_FALSE(ParseQuantization("\x0A\x7F").has_value());
  EXPECT_FALSE(ParseQuantization(std::string("\x0A\x03\x00\x00\x80", 5)).has_value());
}

TEST(HexFloat, ReadsBackBitForBit) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 20000; ++i) {
    const auto value = std::bit_cast<double>(random());
    if (std::isnan(value)) continue;
    ASSERT_EQ(std::bit_cast<std::uint64_t>(*ParseFloat(HexFloat(value))),
              std::bit_cast<std::uint64_t>(value));
    const auto single = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (std::isnan(single)) continue;
    ASSERT_EQ(static_cast<float>(*ParseFloat(HexFloat(single))), single);
  }
  EXPECT_EQ(HexFloat(0.1875), "0x1.8p-3");
  EXPECT_EQ(HexFloat(-0.0), "-0x0p+0");
}

// What is absent has its default; what differs in one field, or has counts that fit nothing,
// differs.
TEST(SameParameters, ComparesWhatMapsStoredValues) {
  Quantization declared = Over({1});
  declared.scale = {0.5F, 0.25F};
  Quantization given = declared;
  EXPECT_TRUE(SameParameters(declared, given));
  given.offset = {0, 0};
  given.block_shape = {1};
  given.base_levels = {{.value = {0.0F}}};
  EXPECT_TRUE(SameParameters(declared, given));
  const auto changed = [&](auto change) {
    Quantization other = given;
    change(other);
    return !SameParameters(declared, other) && !SameParameters(other, declared);
  };
  EXPECT_TRUE(changed([](Quantization& q) { q.scale[1] = 0.5F; }));
  EXPECT_TRUE(changed([](Quantization& q) { q.scale.pop_back(); }));
  EXPECT_TRUE(changed([](Quantization& q) { q.offset[1] = 1; }));
  EXPECT_TRUE(changed([](Quantization& q) { q.offset.push_back(0); }));
  EXPECT_TRUE(changed([](Quantization& q) { q.axis = {0}; }));
  EXPECT_TRUE(changed([](Quantization& q) { q.block_shape = {2}; }));
  EXPECT_TRUE(changed([](Quantization& q) { q.block_shape = {1, 1}; }));
  EXPECT_TRUE(changed([](Quantization& q) { q.base_levels[0].value = {0.5F}; }));
  EXPECT_TRUE(changed([](Quantization& q) { q.base_levels[0].value.clear(); }));
  EXPECT_TRUE(changed([](Quantization& q) { q.code_book = {0, 1}; }));
}

TEST(ParseFloat, TakesDecimalHexAndSpecialValues) {
  EXPECT_EQ(*ParseFloat("-1.5e-2"), -0.015);
  EXPECT_EQ(*ParseFloat("+0X1P4"), 16.0);
  EXPECT_EQ(*ParseFloat("-inf"), -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(*ParseFloat("nan")));
  for (const char* text : {"", "-", "0x", "--1", "1 ", "1.0f", "0x-1", "one"}) {
    EXPECT_FALSE(ParseFloat(text).has_value()) << text;
  }
}

TEST(ToString, NamesTypeShapeAndParameters) {
  ValueInfo value = Value("v", ElementType::kInt8Q, {1, 8}, PerTensor(0x1p-7F));
  EXPECT_EQ(ToString(*value.type), "INT8Q[1,8] per-tensor scale 0x1p-7 offset 0");
  value.type->quantization->axis = {1};
  value.type->quantization->scale.assign(8, 0.5F);
  value.type->shape->front() = Dimension{std::nullopt, "N"};
  EXPECT_EQ(ToString(*value.type), "INT8Q[N,8] per-axis(1) scale 0x1p-1.. offset 0");
}

}  // namespace
}  // namespace qtx::format
