// Values at fixed bits of a record.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "qtx/format/quantization.h"

namespace qtx::convert::gguf {

/// Bits of the values from `first` on: proto/qtx/quantization.proto says what the numbers are.
inline format::BitSpan Bits(std::int32_t value_bit, std::int32_t width, std::int32_t record_bit,
                            std::vector<std::int32_t> count, std::vector<std::int32_t> stride,
                            std::int32_t first = 0) {
  return {.value_bit = value_bit,
          .width = width,
          .first = first,
          .record_bit = record_bit,
          .count = std::move(count),
          .stride = std::move(stride),
          .unknown_fields = {}};
}

/// The values of a field, unsigned and without bias. Bit b of a record is bit b % 8 of byte b / 8.
class BitField {
 public:
  /// REQUIRES: the spans of a row of ggml_types.h or vectors.cc, of at most 16 bits each.
  explicit BitField(std::span<const format::BitSpan> spans);

  std::size_t size() const { return values_.size(); }  // values of a record
  std::uint32_t Get(std::span<const std::byte> record, std::size_t i) const;
  /// Sets bits that are 0.
  void Put(std::span<std::byte> record, std::size_t i, std::uint32_t value) const;
  /// All bits that a value has.
  int width() const { return width_; }

 private:
  struct Part {
    std::int32_t record_bit, width, value_bit;
  };
  std::vector<std::vector<Part>> values_;
  int width_ = 0;
};

}  // namespace qtx::convert::gguf
