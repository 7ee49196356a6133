// Tensors of a GGUF file as ordinary tensors of ONNX.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gguf/ggml_types.h"
#include "qtx/format/tensor.h"

namespace qtx::convert::gguf {

/// Whether a number can be a factor of the type: it is finite, and ggml reads it as it is meant.
bool IsFactor(format::ElementType type, double value);

/// Says which factor of the records is infinite or NaN, and so cannot be one of a scale or base;
/// nullopt if all are finite. REQUIRES: type.form is kRecords.
Result<std::optional<std::string>> FindNonFinite(const GgmlType& type,
                                                 std::span<const std::byte> records);

/// A tensor with its factors, each a tensor of its own.
struct Unpacked {
  format::Tensor codes;               // of the storage, without quantization
  std::vector<format::Tensor> scale;  // of each level that is no constant
  std::vector<format::Tensor> base;
};

/// REQUIRES: type.form is kRecords; `records` are those of a tensor of shape `dims`.
Result<Unpacked> UnpackRecords(const GgmlType& type, const format::Dims& dims,
                               std::span<const std::byte> records);

/// nullopt where the records do not follow from what they decode to, or the binary16 of one is
/// infinite or NaN; `why` says which.  REQUIRES: type.form is kVectors.
Result<std::optional<Unpacked>> UnpackVectors(const GgmlType& type, const format::Dims& dims,
                                              std::span<const std::byte> records, std::string& why);

}  // namespace qtx::convert::gguf
