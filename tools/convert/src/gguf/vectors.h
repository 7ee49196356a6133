// Records that no qtx.Encoding describes: vectors of a grid with signs (IQ1 to IQ3), digits of base
// 3 (TQ1_0). Each has a decoder of its own, and an encoder that finds the record again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "gguf/ggml_types.h"

namespace qtx::convert::gguf {

/// The parts of one record: real = values[i] * the level's constant * half * factors[block of i].
struct VectorRecord {
  std::int8_t values[256];
  std::uint8_t factors[16];  // odd numbers; of a type with one level (TQ1_0) none
  std::uint16_t half;        // the code of a binary16
};

/// Decodes and encodes the records of one type.
class VectorCodec {
 public:
  /// REQUIRES: type.form == Form::kVectors.
  static std::unique_ptr<const VectorCodec> Make(const GgmlType& type);
  virtual ~VectorCodec() = default;

  virtual void Decode(std::span<const std::byte> record, VectorRecord& parts) const = 0;
  /// Finds the record that decodes to `parts`; false if there is none. Of several (TQ1_0) the one
  /// that a quantizer writes.  REQUIRES: record.size() == type.bytes, all 0.
  virtual bool Encode(const VectorRecord& parts, std::span<std::byte> record) const = 0;
};

}  // namespace qtx::convert::gguf
