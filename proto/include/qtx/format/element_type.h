// Element types: ONNX's own and the quantized ones, 1000 + the storage type's ONNX code.
// Source: spec/format/element_types.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace qtx::format {

enum class ElementType : std::int32_t {
  kUndefined = 0,
  kFloat = 1,
  kUint8 = 2,
  kInt8 = 3,
  kUint16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kDouble = 11,
  kUint32 = 12,
  kUint64 = 13,
  kComplex64 = 14,
  kComplex128 = 15,
  kBfloat16 = 16,
  kFloat8E4M3FN = 17,
  kFloat8E4M3FNUZ = 18,
  kFloat8E5M2 = 19,
  kFloat8E5M2FNUZ = 20,
  kUint4 = 21,
  kInt4 = 22,
  kFloat4E2M1 = 23,
  kFloat8E8M0 = 24,
  kUint2 = 25,
  kInt2 = 26,
  kBipolar1 = 101,  // storage of BIPOLAR1Q only; no ONNX tensor has it
  kUint8Q = 1002,
  kInt8Q = 1003,
  kUint16Q = 1004,
  kInt16Q = 1005,
  kInt32Q = 1006,
  kFloat8E4M3FNQ = 1017,
  kFloat8E4M3FNUZQ = 1018,
  kFloat8E5M2Q = 1019,
  kFloat8E5M2FNUZQ = 1020,
  kUint4Q = 1021,
  kInt4Q = 1022,
  kFloat4E2M1Q = 1023,
  kUint2Q = 1025,
  kInt2Q = 1026,
  kBipolar1Q = 1101,
};

/// True for the fifteen quantized types.
bool IsQuantized(ElementType type);
/// True for FLOAT16 and BFLOAT16.
inline bool IsHalf(ElementType type) {
  return type == ElementType::kFloat16 || type == ElementType::kBfloat16;
}
/// True for what the real of a quantized value may be in: FLOAT, FLOAT16 and BFLOAT16.
inline bool IsRealType(ElementType type) { return type == ElementType::kFloat || IsHalf(type); }

/// The storage type of a quantized type (INT8Q -> INT8); any other type is its own storage.
ElementType StorageOf(ElementType type);

/// The quantized type over `storage`, or nullopt when the format has none (e.g. for FLOAT16).
std::optional<ElementType> QuantizedOf(ElementType storage);

/// Bits of one element in memory and on the wire; 0 for STRING and undefined or unknown codes.
int BitWidth(ElementType type);

/// True when the storage is a two's complement, unsigned or bipolar integer.
bool IsIntegerStorage(ElementType type);
/// True when the storage is a float8 or float4 format (a scaled float when quantized).
bool IsSmallFloat(ElementType type);

/// Inclusive range of the finite stored values, for every type: INT4Q [-8, 7], FLOAT8E4M3FNQ
/// [-448, 448], BOOL [0, 1]. Bounds beyond int64 are clamped to it (UINT64, FLOAT).
struct IntegerRange {
  std::int64_t min = 0;
  std::int64_t max = 0;
  bool operator==(const IntegerRange&) const = default;
};
IntegerRange StorageRange(ElementType type);

/// Upper-case name as in the spec ("INT8Q", "FLOAT"); "UNKNOWN" for codes outside the enum.
std::string_view Name(ElementType type);
/// Inverse of Name, case-insensitive.
std::optional<ElementType> ElementTypeFromName(std::string_view name);
/// `code` as an ElementType; nullopt if the enum lacks it.
std::optional<ElementType> ElementTypeFromCode(std::int64_t code);

}  // namespace qtx::format
