// Tensors written into records.
#include <algorithm>
#include <cstring>
#include <variant>

#include "bit_runs.h"
#include "carrier.h"
#include "check_rules.h"
#include "code_lines.h"
#include "encoding_walk.h"
#include "qtx/format/encoding.h"

namespace qtx::format {
namespace {

using encoding::MakeBits;
using encoding::UnpackLine;
using encoding::WriteBits;
using encoding::WriteRuns;

constexpr std::int64_t kLooked = std::int64_t{1} << 18;  // bytes looked at together

// The values of one record, out of lines that are `length` apart.
void TakeLines(const std::uint8_t* from, std::int64_t lines, std::int64_t line, std::int64_t length,
               std::uint8_t* values) {
  for (std::int64_t k = 0; k < lines; ++k)
    std::memcpy(values + k * line, from + k * length, static_cast<std::size_t>(line));
}

// Element `i` of a tensor of at most 32 bits, an integer widened.
std::int64_t ElementAt(const Tensor& tensor, std::size_t i) {
  const auto width = static_cast<unsigned>(BitWidth(tensor.elem_type));
  std::uint64_t code = 0;
  if (width < 8) {
    code = static_cast<unsigned>(tensor.bytes[i * width / 8]) >> (i * width % 8);
    code &= (1U << width) - 1U;
  } else {
    std::memcpy(&code, tensor.bytes.data() + i * (width / 8), width / 8);
  }
  const bool negative = IsIntegerStorage(tensor.elem_type) &&
                        StorageRange(tensor.elem_type).min < 0 && (code >> (width - 1) & 1U) != 0;
  return static_cast<std::int64_t>(code) - (negative ? std::int64_t{1} << width : 0);
}

// Names the first value that the field's bits cannot hold.  REQUIRES: there is one.
Error NotHeld(const FieldLayout& field, const Tensor& values) {
  const std::int64_t limit = std::int64_t{1} << field.width;
  std::size_t element = 0;
  std::int64_t value = ElementAt(values, element);
  while (value >= field.add && value < field.add + limit) value = ElementAt(values, ++element);
  return {ErrorCode::kInvalid, "element " + std::to_string(element),
          FoundExpected(std::to_string(value), "a value of " + std::to_string(field.width) +
                                                   " bits, " + std::to_string(field.add) + " to " +
                                                   std::to_string(field.add + limit - 1))};
}

// The inverse of ReadCodes.
Result<void> WriteCodes(const FieldLayout& field, const Dims& grid, std::int64_t line,
                        const Tensor& tensor, std::int64_t record_bytes,
                        std::span<std::byte> records) {
  const CodeBands bands(field, grid, line);
  std::vector<std::uint8_t> codes = bands.Codes();
  std::vector<std::uint8_t> one(static_cast<std::size_t>(field.per_record));
  const auto add = static_cast<std::uint8_t>(field.add);
  const auto bits = static_cast<std::uint8_t>((1U << static_cast<unsigned>(field.width)) - 1);
  GridWalk walk(bands.grid);
  for (std::byte* to = records.data(); to != records.data() + records.size(); walk.Next()) {
    const std::int64_t start = walk.StartOf(field);
    std::ranges::fill(codes, add);  // the last bytes may be of no code
    for (std::int64_t k = 0; k < bands.lines; ++k) {
      UnpackLine(tensor.bytes.data(), start + field.place[static_cast<std::size_t>(k * line)],
                 bands.width, bands.length, codes.data() + k * bands.length);
    }
    if (!MakeBits(codes, static_cast<std::uint8_t>(field.flip), add, bands.mask, bits))
      return NotHeld(field, tensor);
    for (std::int64_t r = 0; r < bands.across; ++r, to += record_bytes) {
      TakeLines(codes.data() + r * line, bands.lines, line, bands.length, one.data());
      WriteRuns<std::uint8_t>(one.data(), field.runs, to);
    }
  }
  return {};
}

// T is the type of the factors, or of their bits.
template <typename T>
Result<void> WriteFactors(const FieldLayout& field, const Dims& grid, const Tensor& values,
                          std::int64_t record_bytes, std::span<std::byte> records) {
  const std::span<const T> from = values.As<T>();
  const std::int64_t limit = std::int64_t{1} << field.width;
  std::vector<std::uint32_t> bits(static_cast<std::size_t>(field.per_record));
  GridWalk walk(grid);
  for (std::size_t at = 0; at < records.size(); at += static_cast<std::size_t>(record_bytes)) {
    const std::int64_t start = walk.StartOf(field);
    for (std::size_t k = 0; k < bits.size(); ++k) {
      const std::int64_t element = start + field.place[k];
      const std::int64_t raw = std::int64_t{from[static_cast<std::size_t>(element)]} - field.add;
      if (raw < 0 || raw >= limit) return NotHeld(field, values);
      bits[k] = static_cast<std::uint32_t>(raw) ^ field.flip;
    }
    WriteRuns<std::uint32_t>(bits.data(), field.runs, records.data() + at);
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
  if (field.role == EncodedRole::kCode)
    return WriteCodes(field, grid_, Line(), values, record_bytes_, records);
  const int width = BitWidth(field.type);
  const bool negative = IsIntegerStorage(field.type) && StorageRange(field.type).min < 0;
  if (width == 32) return WriteFactors<std::uint32_t>(field, grid_, values, record_bytes_, records);
  if (width == 16) return WriteFactors<std::uint16_t>(field, grid_, values, record_bytes_, records);
  return negative ? WriteFactors<std::int8_t>(field, grid_, values, record_bytes_, records)
                  : WriteFactors<std::uint8_t>(field, grid_, values, record_bytes_, records);
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
