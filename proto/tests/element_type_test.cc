#include "qtx/format/element_type.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

namespace qtx::format {
namespace {

// The table of spec/format/element_types.md.
struct Row {
  std::int32_t code;
  const char* name;
  int bits;
  std::int64_t min, max;
};
constexpr Row kIntegers[] = {
    {1002, "UINT8Q", 8, 0, 255},
    {1003, "INT8Q", 8, -128, 127},
    {1004, "UINT16Q", 16, 0, 65535},
    {1005, "INT16Q", 16, -32768, 32767},
    {1006, "INT32Q", 32, -2147483648LL, 2147483647},
    {1021, "UINT4Q", 4, 0, 15},
    {1022, "INT4Q", 4, -8, 7},
    {1025, "UINT2Q", 2, 0, 3},
    {1026, "INT2Q", 2, -2, 1},
    {1101, "BIPOLAR1Q", 1, -1, 1},
};
// The largest finite magnitudes are those of OCP 8-bit Floating Point v1.0, OCP MX v1.0 and ONNX.
constexpr Row kFloats[] = {
    {1017, "FLOAT8E4M3FNQ", 8, -448, 448},   {1018, "FLOAT8E4M3FNUZQ", 8, -240, 240},
    {1019, "FLOAT8E5M2Q", 8, -57344, 57344}, {1020, "FLOAT8E5M2FNUZQ", 8, -57344, 57344},
    {1023, "FLOAT4E2M1Q", 4, -6, 6},
};

TEST(ElementType, HasTheIntegerTypesOfTheTable) {
  for (const Row& row : kIntegers) {
    const auto type = ElementTypeFromCode(row.code);
    ASSERT_TRUE(type.has_value()) << row.code;
    EXPECT_EQ(Name(*type), row.name);
    EXPECT_EQ(BitWidth(*type), row.bits) << row.name;
    EXPECT_TRUE(IsQuantized(*type) && IsIntegerStorage(*type) && !IsSmallFloat(*type)) << row.name;
    EXPECT_EQ(StorageRange(*type), (IntegerRange{row.min, row.max})) << row.name;
  }
}

TEST(ElementType, HasTheScaledFloatsOfTheTable) {
  for (const Row& row : kFloats) {
    const auto type = ElementTypeFromCode(row.code);
    ASSERT_TRUE(type.has_value()) << row.code;
    EXPECT_EQ(Name(*type), row.name);
    EXPECT_EQ(BitWidth(*type), row.bits);
    EXPECT_TRUE(IsQuantized(*type) && IsSmallFloat(*type) && !IsIntegerStorage(*type)) << row.name;
    EXPECT_EQ(StorageRange(*type), (IntegerRange{row.min, row.max})) << row.name;
  }
}

TEST(ElementType, HasARangeForEveryCode) {
  constexpr IntegerRange kWhole{INT64_MIN, INT64_MAX};
  for (const ElementType type :
       {ElementType::kUndefined, ElementType::kFloat, ElementType::kString,
        ElementType::kFloat8E8M0, ElementType::kInt64, static_cast<ElementType>(-5)}) {
    EXPECT_EQ(StorageRange(type), kWhole) << Name(type);
  }
  EXPECT_EQ(StorageRange(ElementType::kUint64), (IntegerRange{0, INT64_MAX}));
  EXPECT_EQ(StorageRange(ElementType::kUint32), (IntegerRange{0, 4294967295}));
  EXPECT_EQ(StorageRange(ElementType::kBool), (IntegerRange{0, 1}));
}

TEST(ElementType, HasNoOtherQuantizedCode) {
  int found = 0;
  for (std::int32_t code = -2000; code <= 3000; ++code) {
    const auto type = ElementTypeFromCode(code);
    if (type && IsQuantized(*type)) ++found;
    EXPECT_EQ(IsQuantized(static_cast<ElementType>(code)), type && code > 1000) << code;
  }
  EXPECT_EQ(found, 15);
}

TEST(ElementType, StorageAndQuantizedTypeAreInverse) {
  for (std::int32_t code = 0; code <= 1200; ++code) {
    const auto type = ElementTypeFromCode(code);
    if (!type) continue;
    if (IsQuantized(*type)) {
      EXPECT_EQ(QuantizedOf(StorageOf(*type)), *type);
      EXPECT_EQ(QuantizedOf(*type), std::nullopt);
    } else {
      EXPECT_EQ(StorageOf(*type), *type);
    }
  }
  EXPECT_EQ(QuantizedOf(ElementType::kFloat16), std::nullopt);
  EXPECT_EQ(QuantizedOf(ElementType::kFloat8E8M0), std::nullopt);
  for (const auto code : {std::numeric_limits<std::int32_t>::max(),
                          std::numeric_limits<std::int32_t>::min(), -1, 1000, 2000})
    EXPECT_EQ(QuantizedOf(static_cast<ElementType>(code)), std::nullopt);
}

TEST(ElementType, NamesReadBackInAnyCase) {
  for (std::int32_t code = 1; code <= 1200; ++code) {
    const auto type = ElementTypeFromCode(code);
    if (!type) continue;
    EXPECT_EQ(ElementTypeFromName(Name(*type)), *type);
  }
  EXPECT_EQ(ElementTypeFromName("float8e4m3fnq"), ElementType::kFloat8E4M3FNQ);
  EXPECT_EQ(ElementTypeFromName("int8qq"), std::nullopt);
  EXPECT_EQ(ElementTypeFromName(""), std::nullopt);
  EXPECT_EQ(ElementTypeFromCode(std::int64_t{1} << 32 | 1003), std::nullopt);
}

}  // namespace
}  // namespace qtx::format
