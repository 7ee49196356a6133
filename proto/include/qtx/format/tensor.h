// Tensors in memory: a type, fixed dimensions and bytes in ONNX's packing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "qtx/format/element_type.h"
#include "qtx/format/quantization.h"
#include "qtx/format/result.h"
#include "qtx/format/shape.h"

namespace qtx::format {

/// Owns its bytes: little-endian, row-major; 4-, 2- and 1-bit elements packed from the lowest bit
/// of each byte, unused high bits of the last byte zero.
struct Tensor {
  ElementType elem_type = ElementType::kUndefined;
  Dims dims;
  std::optional<Quantization> quantization;  // present exactly when IsQuantized(elem_type)
  std::vector<std::byte> bytes;

  /// The bytes as elements of T.  REQUIRES: sizeof(T) * 8 == BitWidth(elem_type).
  template <typename T>
  std::span<const T> As() const {
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  template <typename T>
  std::span<T> As() {
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  bool operator==(const Tensor&) const = default;
};

/// The size in bytes of `count` elements of `type`: ceil(count * BitWidth / 8).
/// Errors: kUnsupported for STRING and unknown types, kTooLarge past kMaxTensorBytes.
Result<std::int64_t> PackedBytes(ElementType type, std::int64_t count);

/// A zero-filled tensor.  Errors: those of ElementCount and PackedBytes.
Result<Tensor> MakeTensor(ElementType type, Dims dims,
                          std::optional<Quantization> q = std::nullopt);

/// REQUIRES: dims are valid (they were checked when the tensor was made).
std::int64_t ElementCount(const Tensor& tensor);

/// Stored integers, sign-extended; BIPOLAR1 gives -1 and +1.
/// REQUIRES: integer storage (or BOOL) of at most 64 bits, bytes.size() matches dims.
std::vector<std::int64_t> UnpackIntegers(const Tensor& tensor);
std::vector<std::int32_t> UnpackInt32(const Tensor& tensor);  // storage of at most 32 bits
/// Inverse.  REQUIRES: values in the storage's range, one per element.
void PackIntegers(std::span<const std::int64_t> values, Tensor& tensor);
void PackInt32(std::span<const std::int32_t> values, Tensor& tensor);

/// Stored values as doubles: integers, and float/float16/bfloat16/float8/float4 decoded (exactly).
/// REQUIRES: not STRING, complex, INT64 or UINT64.
std::vector<double> StoredValues(const Tensor& tensor);

/// The value of a float16, bfloat16, float8, float8e8m0 or float4 code (exact in a double).
/// Source: IEEE 754, OCP MX v1.0, ONNX's float8 tables.
double DecodeSmallFloat(ElementType storage, std::uint32_t code);

/// The code nearest to `value`, ties to the even code, saturating at the largest finite value. NaN
/// gives the format's NaN (0 for FLOAT4E2M1, which has none).
std::uint32_t EncodeSmallFloat(ElementType storage, double value);

}  // namespace qtx::format
