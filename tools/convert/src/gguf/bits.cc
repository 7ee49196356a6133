#include "gguf/bits.h"

#include <algorithm>

namespace qtx::convert::gguf {

BitField::BitField(std::span<const format::BitSpan> spans) {
  for (const format::BitSpan& span : spans) {
    std::int32_t count = 1;
    for (const std::int32_t digits : span.count) count *= digits;
    const auto first = static_cast<std::size_t>(span.first);
    values_.resize(std::max(values_.size(), first + static_cast<std::size_t>(count)));
    for (std::int32_t i = 0; i < count; ++i) {
      std::int32_t bit = span.record_bit, rest = i;
      for (std::size_t k = 0; k < span.count.size(); ++k) {
        bit += rest % span.count[k] * span.stride[k];
        rest /= span.count[k];
      }
      values_[first + static_cast<std::size_t>(i)].push_back({bit, span.width, span.value_bit});
    }
    width_ = std::max(width_, span.value_bit + span.width);
  }
}

std::uint32_t BitField::Get(std::span<const std::byte> record, std::size_t i) const {
  std::uint32_t value = 0;
  for (const Part& part : values_[i]) {
    std::uint32_t window = 0;
    const auto byte = static_cast<std::size_t>(part.record_bit / 8);
    const std::size_t end = std::min(byte + 3, record.size());
    for (std::size_t k = byte; k < end; ++k)
      window |= static_cast<std::uint32_t>(record[k]) << (8 * (k - byte));
    const std::uint32_t bits = window >> (part.record_bit % 8) & ((1U << part.width) - 1);
    value |= bits << part.value_bit;
  }
  return value;
}

void BitField::Put(std::span<std::byte> record, std::size_t i, std::uint32_t value) const {
  for (const Part& part : values_[i]) {
    const std::uint32_t bits = value >> part.value_bit & ((1U << part.width) - 1);
    const std::uint32_t window = bits << (part.record_bit % 8);
    const auto byte = static_cast<std::size_t>(part.record_bit / 8);
    for (std::size_t k = byte; k < std::min(byte + 3, record.size()); ++k)
      record[k] |= static_cast<std::byte>(window >> (8 * (k - byte)) & 0xffU);
  }
}

}  // namespace qtx::convert::gguf
