#include "qtx/format/element_type.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>

#include "qtx/format/tensor.h"

namespace qtx::format {
namespace {

struct Row {
  ElementType type;
  std::string_view name;
  int bits;
};

using enum ElementType;
constexpr std::array kRows = {
    Row{kFloat, "FLOAT", 32},
    Row{kUint8, "UINT8", 8},
    Row{kInt8, "INT8", 8},
    Row{kUint16, "UINT16", 16},
    Row{kInt16, "INT16", 16},
    Row{kInt32, "INT32", 32},
    Row{kInt64, "INT64", 64},
    Row{kString, "STRING", 0},
    Row{kBool, "BOOL", 8},
    Row{kFloat16, "FLOAT16", 16},
    Row{kDouble, "DOUBLE", 64},
    Row{kUint32, "UINT32", 32},
    Row{kUint64, "UINT64", 64},
    Row{kComplex64, "COMPLEX64", 64},
    Row{kComplex128, "COMPLEX128", 128},
    Row{kBfloat16, "BFLOAT16", 16},
    Row{kFloat8E4M3FN, "FLOAT8E4M3FN", 8},
    Row{kFloat8E4M3FNUZ, "FLOAT8E4M3FNUZ", 8},
    Row{kFloat8E5M2, "FLOAT8E5M2", 8},
    Row{kFloat8E5M2FNUZ, "FLOAT8E5M2FNUZ", 8},
    Row{kUint4, "UINT4", 4},
    Row{kInt4, "INT4", 4},
    Row{kFloat4E2M1, "FLOAT4E2M1", 4},
    Row{kFloat8E8M0, "FLOAT8E8M0", 8},
    Row{kUint2, "UINT2", 2},
    Row{kInt2, "INT2", 2},
    Row{kBipolar1, "BIPOLAR1", 1},
    Row{kUint8Q, "UINT8Q", 8},
    Row{kInt8Q, "INT8Q", 8},
    Row{kUint16Q, "UINT16Q", 16},
    Row{kInt16Q, "INT16Q", 16},
    Row{kInt32Q, "INT32Q", 32},
    Row{kFloat8E4M3FNQ, "FLOAT8E4M3FNQ", 8},
    Row{kFloat8E4M3FNUZQ, "FLOAT8E4M3FNUZQ", 8},
    Row{kFloat8E5M2Q, "FLOAT8E5M2Q", 8},
    Row{kFloat8E5M2FNUZQ, "FLOAT8E5M2FNUZQ", 8},
    Row{kUint4Q, "UINT4Q", 4},
    Row{kInt4Q, "INT4Q", 4},
    Row{kFloat4E2M1Q, "FLOAT4E2M1Q", 4},
    Row{kUint2Q, "UINT2Q", 2},
    Row{kInt2Q, "INT2Q", 2},
    Row{kBipolar1Q, "BIPOLAR1Q", 1},
};
constexpr std::int32_t kQuantizedBase = 1000;

const Row* Find(ElementType type) {
  const auto row = std::ranges::find(kRows, type, &Row::type);
  return row == kRows.end() ? nullptr : &*row;
}

bool IsSigned(ElementType storage) {
  return storage == kInt8 || storage == kInt16 || storage == kInt32 || storage == kInt64 ||
         storage == kInt4 || storage == kInt2;
}

}  // namespace

bool IsQuantized(ElementType type) {
  return static_cast<std::int32_t>(type) > kQuantizedBase && Find(type) != nullptr;
}

ElementType StorageOf(ElementType type) {
  if (!IsQuantized(type)) return type;
  return static_cast<ElementType>(static_cast<std::int32_t>(type) - kQuantizedBase);
}

std::optional<ElementType> QuantizedOf(ElementType storage) {
  if (Find(storage) == nullptr || IsQuantized(storage)) return std::nullopt;
  const auto type = static_cast<ElementType>(static_cast<std::int32_t>(storage) + kQuantizedBase);
  if (!IsQuantized(type)) return std::nullopt;
  return type;
}

int BitWidth(ElementType type) {
  const Row* row = Find(type);
  return row == nullptr ? 0 : row->bits;
}

bool IsIntegerStorage(ElementType type) {
  const ElementType storage = StorageOf(type);
  return IsSigned(storage) || storage == kUint8 || storage == kUint16 || storage == kUint32 ||
         storage == kUint64 || storage == kUint4 || storage == kUint2 || storage == kBipolar1;
}

bool IsSmallFloat(ElementType type) {
  const ElementType storage = StorageOf(type);
  return storage == kFloat4E2M1 || storage == kFloat8E8M0 ||
         (storage >= kFloat8E4M3FN && storage <= kFloat8E5M2FNUZ);
}

IntegerRange StorageRange(ElementType type) {
  const ElementType storage = StorageOf(type);
  if (storage == kBipolar1) return {-1, 1};
  if (storage == kBool) return {0, 1};
  if (IsSmallFloat(storage) && storage != kFloat8E8M0) {
    const std::uint32_t code = EncodeSmallFloat(storage, std::numeric_limits<double>::max());
    const auto largest = static_cast<std::int64_t>(DecodeSmallFloat(storage, code));
    return {-largest, largest};
  }
  const int bits = IsIntegerStorage(storage) ? BitWidth(storage) : 64;
  const bool is_signed = IsSigned(storage) || !IsIntegerStorage(storage);
  const int magnitude_bits = std::min(bits - (is_signed ? 1 : 0), 63);
  const auto max = static_cast<std::int64_t>((std::uint64_t{1} << magnitude_bits) - 1);
  return {is_signed ? -max - 1 : 0, max};
}

std::string_view Name(ElementType type) {
  const Row* row = Find(type);
  return row == nullptr ? "UNKNOWN" : row->name;
}

std::optional<ElementType> ElementTypeFromName(std::string_view name) {
  const auto equal = [name](std::string_view candidate) {
    return std::ranges::equal(name, candidate, [](char a, char b) {
      return std::toupper(static_cast<unsigned char>(a)) == b;
    });
  };
  const auto row = std::ranges::find_if(kRows, equal, &Row::name);
  if (row == kRows.end()) return std::nullopt;
  return row->type;
}

std::optional<ElementType> ElementTypeFromCode(std::int64_t code) {
  if (code < 0 || code > static_cast<std::int64_t>(kBipolar1Q)) return std::nullopt;
  const auto type = static_cast<ElementType>(code);
  if (code != 0 && Find(type) == nullptr) return std::nullopt;
  return type;
}

}  // namespace qtx::format
