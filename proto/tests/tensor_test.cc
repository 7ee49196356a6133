#include "qtx/format/tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "qtx/format/limits.h"

namespace qtx::format {
namespace {

using testing::ElementsAre;
using enum ElementType;

constexpr ElementType kSubByte[] = {kUint4,  kInt4,  kUint2,  kInt2,  kBipolar1,
                                    kUint4Q, kInt4Q, kUint2Q, kInt2Q, kBipolar1Q};

Tensor OfByte(ElementType type, int byte) {
  Tensor tensor = *MakeTensor(type, {8 / BitWidth(type)});
  tensor.bytes[0] = static_cast<std::byte>(byte);
  return tensor;
}

// The value of `width` bits of `byte` from bit `from`, by ONNX's packing: first element lowest.
std::int64_t Expected(ElementType type, int byte, int from, int width) {
  const int bits = (byte >> from) % (1 << width);
  if (StorageOf(type) == kBipolar1) return bits == 0 ? -1 : 1;
  const bool negative = StorageRange(type).min < 0 && bits >= 1 << (width - 1);
  return negative ? bits - (1 << width) : bits;
}

TEST(UnpackIntegers, TakesEveryByteApartFromTheLowestBits) {
  for (const ElementType type : kSubByte) {
    const int width = BitWidth(type);
    for (int byte = 0; byte < 256; ++byte) {
      const auto values = UnpackIntegers(OfByte(type, byte));
      for (std::size_t i = 0; i < values.size(); ++i) {
        const auto from = static_cast<int>(i) * width;
        ASSERT_EQ(values[i], Expected(type, byte, from, width)) << Name(type) << " " << byte;
      }
    }
  }
}

TEST(PackIntegers, IsTheInverseOnEveryByte) {
  for (const ElementType type : kSubByte) {
    for (int byte = 0; byte < 256; ++byte) {
      const Tensor tensor = OfByte(type, byte);
      Tensor packed = *MakeTensor(type, tensor.dims);
      PackIntegers(UnpackIntegers(tensor), packed);
      ASSERT_EQ(packed.bytes, tensor.bytes) << Name(type) << " " << byte;
    }
  }
}

TEST(PackIntegers, LeavesTheUnusedHighBitsZero) {
  Tensor nibbles = *MakeTensor(kInt4, {3});
  PackIntegers(std::vector<std::int64_t>{-1, -2, -3}, nibbles);
  EXPECT_THAT(nibbles.bytes, ElementsAre(std::byte{0xEF}, std::byte{0x0D}));
  Tensor bits = *MakeTensor(kBipolar1, {9});
  PackIntegers(std::vector<std::int64_t>(9, 1), bits);
  EXPECT_THAT(bits.bytes, ElementsAre(std::byte{0xFF}, std::byte{0x01}));
}

TEST(PackIntegers, KeepsTheExtremesOfEveryWidth) {
  for (const ElementType type : {kUint8, kInt8, kUint16, kInt16, kInt32, kUint32, kInt64}) {
    const IntegerRange range = StorageRange(type);
    Tensor tensor = *MakeTensor(type, {3});
    PackIntegers(std::vector<std::int64_t>{range.min, range.max, 1}, tensor);
    EXPECT_THAT(UnpackIntegers(tensor), ElementsAre(range.min, range.max, 1)) << Name(type);
  }
}

// Little-endian, two's complement: 0x1234 and -2.
TEST(PackIntegers, WritesWholeBytesLowestFirst) {
  using Bytes = std::vector<std::byte>;
  const Bytes low = {std::byte{0x34}, std::byte{0x12}};
  const Bytes high = {std::byte{0xFE}, std::byte{0xFF}};
  for (const std::size_t width : {2U, 4U}) {
    Bytes expected = low;
    expected.resize(width);
    expected.insert(expected.end(), high.begin(), high.end());
    expected.resize(2 * width, std::byte{0xFF});
    Tensor tensor = *MakeTensor(width == 2 ? kInt16 : kInt32, {2});
    PackInt32(std::vector<std::int32_t>{0x1234, -2}, tensor);
    EXPECT_EQ(tensor.bytes, expected);
    EXPECT_THAT(UnpackInt32(tensor), ElementsAre(0x1234, -2));
  }
}

TEST(UnpackInt32, AgreesWithTheWideForm) {
  Tensor tensor = *MakeTensor(kInt16, {2});
  PackInt32(std::vector<std::int32_t>{-32768, 5}, tensor);
  EXPECT_THAT(UnpackInt32(tensor), ElementsAre(-32768, 5));
  EXPECT_THAT(UnpackIntegers(tensor), ElementsAre(-32768, 5));
}

TEST(StoredValues, DecodesFloatsOfEveryWidth) {
  Tensor floats = *MakeTensor(kFloat, {2});
  floats.As<float>()[0] = 0.1F;
  EXPECT_THAT(StoredValues(floats), ElementsAre(static_cast<double>(0.1F), 0.0));
  Tensor doubles = *MakeTensor(kDouble, {1});
  doubles.As<double>()[0] = 0.1;
  EXPECT_THAT(StoredValues(doubles), ElementsAre(0.1));
  Tensor halves = *MakeTensor(kFloat16, {1});
  halves.As<std::uint16_t>()[0] = 0x3555;  // the binary16 nearest to 1/3
  EXPECT_THAT(StoredValues(halves), ElementsAre(0x1.554p-2));
  Tensor fours = *MakeTensor(kFloat4E2M1Q, {3});
  fours.bytes = {std::byte{0xF1}, std::byte{0x02}};  // codes 1, 15, 2
  EXPECT_THAT(StoredValues(fours), ElementsAre(0.5, -6.0, 1.0));
}

TEST(PackedBytes, CountsWholeBytes) {
  EXPECT_EQ(*PackedBytes(kInt4, 5), 3);
  EXPECT_EQ(*PackedBytes(kUint2, 5), 2);
  EXPECT_EQ(*PackedBytes(kBipolar1Q, 17), 3);
  EXPECT_EQ(*PackedBytes(kInt32Q, 5), 20);
  EXPECT_EQ(*PackedBytes(kInt8, 0), 0);
}

TEST(PackedBytes, RefusesWhatHasNoWidthAndWhatIsTooLarge) {
  EXPECT_EQ(PackedBytes(kString, 1).error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(PackedBytes(kUndefined, 1).error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(PackedBytes(kFloat, kMaxTensorBytes / 4 + 1).error().code, ErrorCode::kTooLarge);
  EXPECT_TRUE(PackedBytes(kFloat, kMaxTensorBytes / 4).has_value());
}

TEST(MakeTensor, RefusesDimsBeforeItAllocates) {
  EXPECT_EQ(MakeTensor(kInt8, {1LL << 62, 1LL << 62}).error().code, ErrorCode::kTooLarge);
  EXPECT_EQ(MakeTensor(kInt8, {-1}).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(MakeTensor(kInt8, Dims(17, 1)).error().code, ErrorCode::kTooLarge);
  // A zero elsewhere does not excuse the others: strides would overflow.
  EXPECT_EQ(MakeTensor(kInt8, {0, 1LL << 40, 1LL << 40}).error().code, ErrorCode::kTooLarge);
}

}  // namespace
}  // namespace qtx::format
