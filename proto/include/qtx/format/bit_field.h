// Values at fixed bits of a record: the parts of an encoding, and of records that none describes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "qtx/format/quantization.h"

namespace qtx::format {

/// Consecutive values of a field whose bits are `stride` apart.
struct BitRun {
  std::int32_t first = 0;      // index of the first value
  std::int32_t count = 0;      // values
  std::int32_t bit = 0;        // of the record, of the first value
  std::int32_t stride = 0;     // bits, negative too
  std::int32_t width = 0;      // bits of each value
  std::int32_t value_bit = 0;  // where in the value they go
};

/// A field on its own, for decoders whose records are more than codes and factors.
class BitField {
 public:
  /// REQUIRES: the spans keep encoding.C8 to C10 in a record of `record_bytes`, at most
  /// kMaxRecordBytes.
  BitField(std::span<const BitSpan> spans, std::int32_t record_bytes);

  std::size_t record_bytes() const { return record_bytes_; }
  std::size_t size() const { return size_; }  // values of a record
  int width() const { return width_; }        // bits of each

  /// The bits of each value, unsigned.
  /// REQUIRES: record.size() == record_bytes() and values.size() >= size(), here and below.
  void Read(std::span<const std::byte> record, std::span<std::uint32_t> values) const;
  /// Sets bits that are 0.
  void Write(std::span<const std::uint32_t> values, std::span<std::byte> record) const;

 private:
  std::vector<BitRun> runs_;
  std::size_t record_bytes_ = 0, size_ = 0;
  int width_ = 0;
};

}  // namespace qtx::format
