#include "qtx/format/bit_field.h"

#include <algorithm>
#include <array>
#include <cassert>

#include "bit_runs.h"
#include "encoding_bits.h"

namespace qtx::format {

BitField::BitField(std::span<const BitSpan> spans, std::int32_t record_bytes)
    : record_bytes_(static_cast<std::size_t>(record_bytes)) {
  for (const BitSpan& span : spans) {
    std::int32_t count = 1;
    for (const std::int32_t digits : span.count) count *= digits;
    size_ = std::max(size_, static_cast<std::size_t>(span.first + count));
    width_ = std::max(width_, span.value_bit + span.width);
  }
  encoding::RecordBits record(record_bytes);
  std::vector<std::uint32_t> value_bits(size_);
  for (const BitSpan& span : spans) {
    [[maybe_unused]] const auto added = record.Add("", span, &runs_, &value_bits);
    assert(added.has_value());
  }
}

void BitField::Read(std::span<const std::byte> record, std::span<std::uint32_t> values) const {
  assert(record.size() == record_bytes_ && values.size() >= size_);
  std::array<std::byte, kMaxRecordBytes + encoding::kSlack> readable;
  std::ranges::copy(record, readable.begin());
  std::fill_n(values.begin(), size_, 0U);
  encoding::ReadRuns<std::uint32_t>(readable.data(), runs_, values.data());
}

void BitField::Write(std::span<const std::uint32_t> values, std::span<std::byte> record) const {
  assert(record.size() == record_bytes_ && values.size() >= size_);
  encoding::WriteRuns<std::uint32_t>(values.data(), runs_, record.data());
}

}  // namespace qtx::format
