// Packing of elements and the codes of the small floats, exhaustively.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <set>

#include "qtx/format/tensor.h"

namespace qtx::format {
namespace {

using enum ElementType;

std::vector<std::byte> Bytes(std::initializer_list<unsigned> values) {
  std::vector<std::byte> bytes;
  for (const unsigned value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

Tensor Packed(ElementType type, const std::vector<std::int64_t>& values) {
  Tensor tensor = *MakeTensor(type, {static_cast<std::int64_t>(values.size())});
  PackIntegers(values, tensor);
  return tensor;
}

// 1 in the low nibble, -2 = 0b1110 in the high one: 0xE1; 7 alone in the last byte: 0x07.
TEST(Pack, PutsTheFirstNibbleInTheLowBits) {
  EXPECT_EQ(Packed(kInt4, {1, -2, 7}).bytes, Bytes({0xE1, 0x07}));
}

// -2 = 0b10, 1 = 0b01, 0, -1 = 0b11, from the low bits up: 0b11'00'01'10.
TEST(Pack, PutsFourCrumbsInAByte) { EXPECT_EQ(Packed(kInt2, {-2, 1, 0, -1}).bytes, Bytes({0xC6})); }

// +1 -1 -1 +1 +1 +1 -1 -1 is 0b00111001 from the lowest bit up; a ninth element starts a byte.
TEST(Pack, PutsEightSignsInAByteFirstLowest) {
  EXPECT_EQ(Packed(kBipolar1Q, {1, -1, -1, 1, 1, 1, -1, -1, 1}).bytes, Bytes({0x39, 0x01}));
}

TEST(Pack, ReadsBackEveryValueOfEveryIntegerTypeUpToSixteenBits) {
  for (const ElementType type : {kUint8, kInt8, kUint16, kInt16, kUint4, kInt4, kUint2, kInt2,
                                 kUint8Q, kInt8Q, kUint4Q, kInt4Q, kUint2Q, kInt2Q}) {
    std::vector<std::int64_t> values;
    const IntegerRange range = StorageRange(type);
    for (std::int64_t v = range.min; v <= range.max; ++v) values.push_back(v);
    values.push_back(range.min);  // an odd count, so that the last byte is short
    EXPECT_EQ(UnpackIntegers(Packed(type, values)), values) << Name(type);
  }
}

TEST(Pack, RefusesMoreBytesThanTheLimitBeforeAllocating) {
  EXPECT_EQ(MakeTensor(kInt64, {1 << 30, 4}).error().code, ErrorCode::kTooLarge);
  EXPECT_EQ(MakeTensor(kInt8, {std::int64_t{1} << 40, std::int64_t{1} << 40}).error().code,
            ErrorCode::kTooLarge);
  EXPECT_EQ(MakeTensor(kInt8, {-1}).error().code, ErrorCode::kInvalid);
}

// The textbook value of a sign-exponent-mantissa code, written independently of the library's: the
// significand as a sum of powers of two.
double Textbook(int exponent_bits, int mantissa_bits, int bias, std::uint32_t code) {
  double significand = 0;
  for (int i = 0; i < mantissa_bits; ++i) {
    if ((code >> i & 1U) != 0) significand += std::pow(2.0, i - mantissa_bits);
  }
  int exponent = 0;
  for (int i = 0; i < exponent_bits; ++i) {
    if ((code >> (mantissa_bits + i) & 1U) != 0) exponent += 1 << i;
  }
  const double sign = (code >> (exponent_bits + mantissa_bits) & 1U) != 0 ? -1 : 1;
  if (exponent == 0) return sign * significand * std::pow(2.0, 1 - bias);
  return sign * (1 + significand) * std::pow(2.0, exponent - bias);
}

struct SmallFloat {
  ElementType type;
  int exponent_bits, mantissa_bits, bias;
  std::set<std::uint32_t> specials;  // codes that are no finite number
  double largest;                    // OCP and ONNX tables
};

const SmallFloat kSmallFloats[] = {
    {kFloat8E4M3FN, 4, 3, 7, {0x7F, 0xFF}, 448},
    {kFloat8E4M3FNUZ, 4, 3, 8, {0x80}, 240},
    {kFloat8E5M2, 5, 2, 15, {0x7C, 0x7D, 0x7E, 0x7F, 0xFC, 0xFD, 0xFE, 0xFF}, 57344},
    {kFloat8E5M2FNUZ, 5, 2, 16, {0x80}, 57344},
    {kFloat4E2M1, 2, 1, 1, {}, 6},
};

TEST(SmallFloat, DecodesEveryCodeAsTheTablesSay) {
  for (const SmallFloat& format : kSmallFloats) {
    double largest = 0;
    for (std::uint32_t code = 0; code < (1U << BitWidth(format.type)); ++code) {
      const double value = DecodeSmallFloat(format.type, code);
      if (format.specials.contains(code)) {
        EXPECT_FALSE(std::isfinite(value)) << Name(format.type) << " " << code;
        continue;
      }
      EXPECT_EQ(value, Textbook(format.exponent_bits, format.mantissa_bits, format.bias, code));
      largest = std::max(largest, value);
    }
    EXPECT_EQ(largest, format.largest) << Name(format.type);
  }
}

TEST(SmallFloat, EncodesEveryValueAndTheTiesBetweenNeighbours) {
  for (const SmallFloat& format : kSmallFloats) {
    const std::uint32_t sign_bit = 1U << (BitWidth(format.type) - 1);
    for (std::uint32_t code = 0; code + 1 < sign_bit; ++code) {
      if (format.specials.contains(code)) continue;
      const double value = DecodeSmallFloat(format.type, code);
      EXPECT_EQ(EncodeSmallFloat(format.type, value), code);
      if (format.specials.contains(code + 1)) continue;
      const double middle = (value + DecodeSmallFloat(format.type, code + 1)) / 2;
      EXPECT_EQ(EncodeSmallFloat(format.type, middle), code % 2 == 0 ? code : code + 1);
      EXPECT_EQ(EncodeSmallFloat(format.type, std::nextafter(middle, 0.0)), code);
      EXPECT_EQ(EncodeSmallFloat(format.type, std::nextafter(middle, 1e9)), code + 1);
    }
    EXPECT_EQ(DecodeSmallFloat(format.type, EncodeSmallFloat(format.type, 1e30)), format.largest);
  }
}

TEST(SmallFloat, HalvesAndBfloatsAgreeWithBinary32Bits) {
  for (std::uint32_t code = 0; code < 0x10000; ++code) {
    const auto expected = std::bit_cast<float>(code << 16);
    const double value = DecodeSmallFloat(kBfloat16, code);
    if (!std::isnan(expected)) {
      ASSERT_EQ(value, expected);
    }
    if (std::isfinite(value)) {
      ASSERT_EQ(EncodeSmallFloat(kBfloat16, value), code);
    }
    const double half = DecodeSmallFloat(kFloat16, code);
    if ((code & 0x7C00U) != 0x7C00U) {
      ASSERT_EQ(half, Textbook(5, 10, 15, code));
      ASSERT_EQ(EncodeSmallFloat(kFloat16, half), code);
    }
  }
}

}  // namespace
}  // namespace qtx::format
