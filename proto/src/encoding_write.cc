// Tensors written into records.
#include <algorithm>
#include <cstring>
#include <variant>

#include "carrier.h"
#include "check_rules.h"
#include "encoding_walk.h"
#include "qtx/format/encoding.h"

namespace qtx::format {
namespace {

constexpr std::int64_t kLooked = std::int64_t{1} << 18;  // bytes looked at together

// `count` elements of `width` bits, at most 8, from `element` on, one to a byte.
void UnpackLine(const std::byte* bytes, std::int64_t element, std::int64_t count, int width,
                std::uint8_t* to) {
  if (width == 8) {
    std::memcpy(to, bytes + element, static_cast<std::size_t>(count));
    return;
  }
  const auto mask = static_cast<std::uint8_t>((1U << static_cast<unsigned>(width)) - 1U);
  const std::int64_t per_byte = 8 / width;
  std::int64_t i = 0;
  const auto get = [&] {
    const std::int64_t at = element + i;
    to[i] = static_cast<std::uint8_t>(static_cast<unsigned>(bytes[at / per_byte]) >>
                                      (at % per_byte * width)) &
            mask;
  };
  for (; i < count && (element + i) % per_byte != 0; ++i) get();
  if (width == 4) {
    for (const std::byte* from = bytes + (element + i) / 2; i + 2 <= count; i += 2, ++from) {
      const auto pair = static_cast<std::uint8_t>(*from);
      to[i] = pair & 15U;
      to[i + 1] = static_cast<std::uint8_t>(pair >> 4U);
    }
  }
  for (; i < count; ++i) get();
}

// Codes of the storage to bits of the records: ((code - add) & mask) ^ flip.  False where one has
// more bits than the field.
bool MakeBits(std::span<std::uint8_t> codes, const FieldLayout& field) {
  const auto add = static_cast<std::uint8_t>(field.add),
             flip = static_cast<std::uint8_t>(field.flip);
  const auto mask =
      static_cast<std::uint8_t>((1U << static_cast<unsigned>(BitWidth(field.type))) - 1U);
  const auto above = static_cast<std::uint8_t>(~((1U << static_cast<unsigned>(field.width)) - 1U));
  std::uint8_t beyond = 0;
  for (std::uint8_t& code : codes) {
    const auto raw = static_cast<std::uint8_t>((code - add) & mask);
    beyond |= raw & above;
    code = raw ^ flip;
  }
  return beyond == 0;
}

// Values that go into one byte each.
void WriteBytes(const std::uint8_t* values, const BitRun& run, std::byte* to) {
  const auto shift = static_cast<unsigned>(run.bit % 8), up = static_cast<unsigned>(run.value_bit);
  const std::uint64_t mask = (1U << static_cast<unsigned>(run.width)) - 1U;
  std::int32_t i = 0;
  for (; i + 8 <= run.count; i += 8) {
    const std::uint64_t bits = LoadWord(values + i) >> up & mask * kEachByte;
    StoreWord(to + i, LoadWord(to + i) | bits << shift);
  }
  for (; i < run.count; ++i) to[i] |= static_cast<std::byte>((values[i] >> up & mask) << shift);
}

void WriteBits(std::byte* record, std::int64_t bit, std::uint64_t bits) {
  bits <<= static_cast<unsigned>(bit % 8);
  for (std::byte* to = record + bit / 8; bits != 0; ++to, bits >>= 8U)
    *to |= static_cast<std::byte>(bits);
}

template <typename T>
void WriteRuns(const T* values, const FieldLayout& field, std::byte* record) {
  for (const BitRun& run : field.runs) {
    const T* from = values + run.first;
    if constexpr (sizeof(T) == 1) {
      if (run.stride == 8 && run.bit % 8 + run.width <= 8) {
        WriteBytes(from, run, record + run.bit / 8);
        continue;
      }
    }
    const std::uint64_t mask = (std::uint64_t{1} << run.width) - 1;
    std::int64_t bit = run.bit;
    for (std::int32_t i = 0; i < run.count; ++i, bit += run.stride)
      WriteBits(record, bit, std::uint64_t{from[i]} >> run.value_bit & mask);
  }
}

Error TooWide(const FieldLayout& field, std::int64_t element, std::int64_t found) {
  const std::int64_t limit = std::int64_t{1} << field.width;
  return {ErrorCode::kInvalid, "element " + std::to_string(element),
          FoundExpected(std::to_string(found), "a value of " + std::to_string(field.width) +
                                                   " bits, " + std::to_string(field.add) + " to " +
                                                   std::to_string(field.add + limit - 1))};
}

// The first of the record's codes that has more bits than the field.
Error FirstTooWide(const FieldLayout& field, const Tensor& values, std::int64_t start) {
  const auto width = static_cast<unsigned>(BitWidth(field.type));
  const bool is_signed = IsIntegerStorage(field.type) && StorageRange(field.type).min < 0;
  for (const std::int64_t place : field.place) {
    std::uint8_t code = 0;
    UnpackLine(values.bytes.data(), start + place, 1, static_cast<int>(width), &code);
    const bool negative = is_signed && (code >> (width - 1) & 1U) != 0;
    const std::int64_t value = code - (negative ? 1 << width : 0);
    const std::int64_t raw = value - field.add;
    if (raw < 0 || raw >= std::int64_t{1} << field.width)
      return TooWide(field, start + place, value);
  }
  return {ErrorCode::kInternal, "", "expected a code of too many bits"};
}

// Writes the codes record by record, `line` of which lie side by side.
Result<void> WriteCodes(const FieldLayout& field, const Tensor& values, std::int64_t line,
                        std::int64_t record_bytes, const Dims& grid, std::span<std::byte> records) {
  const int width = BitWidth(field.type);
  std::vector<std::uint8_t> codes(static_cast<std::size_t>(field.per_record));
  GridWalk walk(grid);
  for (std::size_t at = 0; at < records.size(); at += static_cast<std::size_t>(record_bytes)) {
    const std::int64_t start = walk.StartOf(field);
    for (std::size_t k = 0; k < codes.size(); k += static_cast<std::size_t>(line))
      UnpackLine(values.bytes.data(), start + field.place[k], line, width, codes.data() + k);
    if (!MakeBits(codes, field)) return FirstTooWide(field, values, start);
    WriteRuns(codes.data(), field, records.data() + at);
    walk.Next();
  }
  return {};
}

// T is the type of the factors, or of their bits.
template <typename T>
Result<void> WriteFactors(const FieldLayout& field, const Tensor& values, std::int64_t record_bytes,
                          const Dims& grid, std::span<std::byte> records) {
  const std::span<const T> from = values.As<T>();
  const std::int64_t limit = std::int64_t{1} << field.width;
  std::vector<std::uint32_t> bits(static_cast<std::size_t>(field.per_record));
  GridWalk walk(grid);
  for (std::size_t at = 0; at < records.size(); at += static_cast<std::size_t>(record_bytes)) {
    const std::int64_t start = walk.StartOf(field);
    for (std::size_t k = 0; k < bits.size(); ++k) {
      const std::int64_t element = start + field.place[k];
      const std::int64_t raw = std::int64_t{from[static_cast<std::size_t>(element)]} - field.add;
      if (raw < 0 || raw >= limit) return TooWide(field, element, raw + field.add);
      bits[k] = static_cast<std::uint32_t>(raw) ^ field.flip;
    }
    WriteRuns(bits.data(), field, records.data() + at);
    walk.Next();
  }
  return {};
}

// A bit for each of the record that no field has.
std::vector<std::byte> UnusedBits(const std::vector<FieldLayout>& fields, std::int64_t bytes) {
  std::vector<std::byte> used(static_cast<std::size_t>(bytes));
  for (const FieldLayout& field : fields) {
    for (const BitRun& run : field.runs) {
      for (std::int32_t i = 0; i < run.count; ++i)
        WriteBits(used.data(), run.bit + std::int64_t{i} * run.stride,
                  (std::uint64_t{1} << run.width) - 1);
    }
  }
  for (std::byte& byte : used) byte = ~byte;
  return used;
}

}  // namespace

Result<void> RecordLayout::Encode(const FieldLayout& field, const Tensor& values,
                                  std::span<std::byte> records) const {
  if (field.role == EncodedRole::kCode) {
    const std::int64_t line = record_shape_.empty() ? 1 : record_shape_.back();
    return WriteCodes(field, values, line, record_bytes_, grid_, records);
  }
  const int width = BitWidth(field.type);
  const bool negative = IsIntegerStorage(field.type) && StorageRange(field.type).min < 0;
  if (width == 32) return WriteFactors<std::uint32_t>(field, values, record_bytes_, grid_, records);
  if (width == 16) return WriteFactors<std::uint16_t>(field, values, record_bytes_, grid_, records);
  return negative ? WriteFactors<std::int8_t>(field, values, record_bytes_, grid_, records)
                  : WriteFactors<std::uint8_t>(field, values, record_bytes_, grid_, records);
}

Result<bool> RecordLayout::KeepsAllBits(const TensorData& data, const std::string& folder) const {
  const std::vector<std::byte> unused = UnusedBits(fields_, record_bytes_);
  if (std::ranges::all_of(unused, [](std::byte mask) { return mask == std::byte{0}; })) return true;
  QTX_RETURN_IF_ERROR(CheckCarrier(data));
  QTX_ASSIGN_OR_RETURN(const auto elements, FindElements(data, folder));
  const std::int64_t most = std::max<std::int64_t>(kLooked / record_bytes_, 1) * record_bytes_;
  std::vector<std::byte> chunk;
  for (std::int64_t at = 0; at < bytes(); at += most) {
    const auto size = static_cast<std::size_t>(std::min(most, bytes() - at));
    chunk.resize(size);
    if (const auto* range = std::get_if<FileRange>(&elements)) {
      QTX_RETURN_IF_ERROR(ReadRange(*range, at, chunk));
    } else {
      std::memcpy(chunk.data(), std::get<Tensor>(elements).bytes.data() + at, size);
    }
    for (std::size_t i = 0; i < size; i += unused.size()) {
      for (std::size_t k = 0; k < unused.size(); ++k) {
        if ((chunk[i + k] & unused[k]) != std::byte{0}) return false;
      }
    }
  }
  return true;
}

}  // namespace qtx::format
