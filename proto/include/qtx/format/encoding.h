// Encodings: initializers whose bytes are records, each with the codes of a part of the tensor and
// factors of its scale and base, bit by bit (version 3).
// Source: spec/format/encoding.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "qtx/format/bit_field.h"
#include "qtx/format/model.h"
#include "qtx/format/tensor.h"
#include "qtx/format/tensor_type.h"

namespace qtx::format {

/// The version that a model with an encoding imports.
inline constexpr std::int64_t kEncodingVersion = 3;

inline constexpr std::int64_t kMaxRecordBytes = 4096;
inline constexpr std::int64_t kMaxRecordElements = 8 * kMaxRecordBytes;  // each has a bit at least

/// True if `type` is one whose initializer consists of records. An annotation (elem_type FLOAT) may
/// name an encoding, too; its tensor has none.
inline bool IsEncoded(const TensorType& type) {
  return IsQuantized(type.elem_type) && type.quantization && type.quantization->encoding;
}
bool HasEncoding(const Model& model);  // true if any value has one, annotations included

/// The first field of the role, and level for factors; nullptr if there is none.
const EncodedField* FindField(const Encoding& encoding, EncodedRole role, std::size_t level = 0);

/// What a field's bits are, and the tensor that they make.
struct FieldLayout {
  EncodedRole role = EncodedRole::kCode;
  std::int32_t level = 0;
  std::int32_t width = 0;       // bits of each value
  std::int32_t per_record = 0;  // values
  /// Of codes, the storage and shape of the type; of factors the elem_type, an integer's being INT8
  /// or UINT8 as the bias has it, and the factors along each named axis.
  ElementType type = ElementType::kUndefined;
  Dims dims = {};
  std::uint32_t flip = 0;  // an integer is (bits ^ flip) + add: sign and bias
  std::int32_t add = 0;
  std::vector<BitRun> runs = {};
  /// Value i of the record at grid coordinates g is element start(g) + place[i] of the tensor,
  /// where start(g) = sum of g[axis] * step[axis].
  std::vector<std::int64_t> place = {};
  Dims step = {};
};

/// The encoding of one type, checked, ready to read and write its records.
class RecordLayout {
 public:
  /// Takes bounded time whatever the encoding says.
  /// Errors: kInvalid with the clause that the encoding breaks; `where` is below quantization:
  /// "encoding.field[1].bits[0]".  REQUIRES: type.quantization->encoding.
  static Result<RecordLayout> Make(const TensorType& type);

  const Dims& grid() const { return grid_; }  // records along each axis
  std::int64_t records() const { return records_; }
  std::int64_t record_bytes() const { return record_bytes_; }
  std::int64_t bytes() const { return records_ * record_bytes_; }  // of the initializer

  /// nullptr if the records do not keep it.
  const FieldLayout* Find(EncodedRole role, std::size_t level = 0) const;

  /// Errors: kInvalid, encoding.C2, where `data` is not UINT8 of one dimension, bytes().
  Result<void> CheckCarrier(const TensorData& data) const;

  /// The field's values in all records of `data`, whose file is read in pieces.
  /// Errors: those of CheckCarrier and format::Decode.
  Result<Tensor> Decode(const FieldLayout& field, const TensorData& data,
                        const std::string& folder) const;
  /// The same of records in memory, whose size the caller has checked.
  /// REQUIRES: records.size() == bytes().
  Result<Tensor> Decode(const FieldLayout& field, std::span<const std::byte> records) const;

  /// Writes the field's values into `records`, of which only the bits of the field change.
  /// Errors: kInvalid for a value that the field's bits cannot hold.
  /// REQUIRES: `values` has field.type and dims, records.size() == bytes(), and the field's bits
  /// are 0.
  Result<void> Encode(const FieldLayout& field, const Tensor& values,
                      std::span<std::byte> records) const;

  /// True if what Decode reads of all fields is all that `data` says, so that Encode makes the same
  /// bytes of it: bits that no field has are 0.
  /// Errors: those of CheckCarrier and format::Decode.
  Result<bool> KeepsAllBits(const TensorData& data, const std::string& folder) const;

 private:
  // Elements of a record along the last axis.
  std::int64_t Line() const { return record_shape_.empty() ? 1 : record_shape_.back(); }

  Dims grid_, record_shape_;
  std::int64_t records_ = 0, record_bytes_ = 0;
  std::vector<FieldLayout> fields_;
};

}  // namespace qtx::format
