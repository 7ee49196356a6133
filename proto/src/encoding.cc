// Records read into tensors: one routine for every encoding. encoding_write.cc is the way back.
#include "qtx/format/encoding.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <variant>

#include "carrier.h"
#include "check_rules.h"
#include "encoding_walk.h"

namespace qtx::format {
namespace {

constexpr std::int64_t kChunk = std::int64_t{1} << 18;  // bytes read at a time: they stay in cache
constexpr std::size_t kSlack = 8;  // bytes behind the last record, for reads of 64 bits

// The records of an initializer, in order.
class RecordReader {
 public:
  RecordReader(const std::variant<FileRange, Tensor>& elements, std::int64_t record_bytes)
      : elements_(elements), record_bytes_(record_bytes) {}

  // The next record, with kSlack readable bytes behind it; nullptr once a read has failed.
  const std::byte* Next() {
    if (at_ == end_ && !Read()) return nullptr;
    const std::byte* record = chunk_.data() + at_;
    at_ += record_bytes_;
    return record;
  }
  // Of ReadRange, after Next gave nullptr.
  const Error& error() const { return *error_; }

 private:
  bool Read() {
    const auto* range = std::get_if<FileRange>(&elements_);
    const std::int64_t all =
        range != nullptr ? range->size : std::ssize(std::get<Tensor>(elements_).bytes);
    const std::int64_t most = std::max<std::int64_t>(kChunk / record_bytes_, 1) * record_bytes_;
    end_ = std::min(most, all - read_);
    chunk_.resize(static_cast<std::size_t>(end_) + kSlack);
    const std::span<std::byte> to = std::span(chunk_).first(static_cast<std::size_t>(end_));
    if (range == nullptr) {
      std::memcpy(to.data(), std::get<Tensor>(elements_).bytes.data() + read_, to.size());
    } else if (auto read = ReadRange(*range, read_, to); !read.has_value()) {
      error_ = read.error();
      return false;
    }
    read_ += end_;
    at_ = 0;
    return true;
  }

  const std::variant<FileRange, Tensor>& elements_;
  const std::int64_t record_bytes_;
  std::vector<std::byte> chunk_;
  std::int64_t at_ = 0, end_ = 0, read_ = 0;
  std::optional<Error> error_;
};

// Values that lie one in each byte.
void ReadBytes(const std::byte* from, const BitRun& run, std::uint8_t* to) {
  const auto shift = static_cast<unsigned>(run.bit % 8);
  const auto up = static_cast<unsigned>(run.value_bit);
  const std::uint64_t mask = (1U << static_cast<unsigned>(run.width)) - 1U;
  std::int32_t i = 0;
  for (; i + 8 <= run.count; i += 8) {
    const std::uint64_t values = LoadWord(from + i) >> shift & mask * kEachByte;
    StoreWord(to + i, LoadWord(to + i) | values << up);
  }
  for (; i < run.count; ++i)
    to[i] |= static_cast<std::uint8_t>((static_cast<unsigned>(from[i]) >> shift & mask) << up);
}

// ORs the bits of one record into `values`, which are 0.  REQUIRES: T holds the field's width.
template <typename T>
void ReadRuns(const std::byte* record, const FieldLayout& field, T* values) {
  for (const BitRun& run : field.runs) {
    T* to = values + run.first;
    if constexpr (sizeof(T) == 1) {
      if (run.stride == 8 && run.bit % 8 + run.width <= 8) {
        ReadBytes(record + run.bit / 8, run, to);
        continue;
      }
    }
    const std::uint64_t mask = (std::uint64_t{1} << run.width) - 1;
    // Values side by side are taken from one word while it has more.
    const bool dense = run.stride == run.width;
    std::int64_t bit = run.bit;
    std::uint64_t word = 0;
    std::int32_t left = 0;
    for (std::int32_t i = 0; i < run.count; ++i, bit += run.stride) {
      if (left < run.width) {
        word = LoadWord(record + bit / 8) >> (bit % 8);
        left = dense ? 56 : 0;
      }
      to[i] |= static_cast<T>(static_cast<T>(word & mask) << run.value_bit);
      word >>= run.width;
      left -= run.width;
    }
  }
}

// Each of the bytes, of which there is a multiple of 8: ((byte ^ flip) + add) & mask.
void MakeCodes(std::span<std::uint8_t> bytes, std::uint8_t flip, std::uint8_t add,
               std::uint8_t mask) {
  constexpr std::uint64_t kHigh = 0x80 * kEachByte;
  const std::uint64_t flips = flip * kEachByte, adds = add * kEachByte, masks = mask * kEachByte;
  for (std::size_t i = 0; i < bytes.size(); i += 8) {
    const std::uint64_t x = LoadWord(bytes.data() + i) ^ flips;
    // The highest bits are added apart, so that no carry leaves its byte.
    const std::uint64_t sum = ((x & ~kHigh) + (adds & ~kHigh)) ^ ((x ^ adds) & kHigh);
    StoreWord(bytes.data() + i, sum & masks);
  }
}

// Eight codes of `width` bits, 4 or 2, as the lowest 8 * width bits.
std::uint64_t PackWord(std::uint64_t codes, unsigned width) {
  const unsigned gap = 8 - width;
  const std::uint64_t two = (1U << 2 * width) - 1U, four = (1U << 4 * width) - 1U;
  codes = (codes | codes >> gap) & two * 0x0001000100010001U;
  codes = (codes | codes >> 2 * gap) & four * 0x0000000100000001U;
  return codes | codes >> 4 * gap;
}

// ORs `count` codes of `width` bits, at most 8 and nothing above, into `bytes` from `element` on.
void PackLine(const std::uint8_t* codes, std::int64_t count, int width, std::int64_t element,
              std::byte* bytes) {
  if (width == 8) {
    std::memcpy(bytes + element, codes, static_cast<std::size_t>(count));
    return;
  }
  const std::int64_t per_byte = 8 / width;
  std::int64_t i = 0;
  const auto put = [&] {
    const std::int64_t at = element + i;
    bytes[at / per_byte] |= static_cast<std::byte>(codes[i] << (at % per_byte * width));
  };
  for (; i < count && (element + i) % per_byte != 0; ++i) put();
  std::byte* to = bytes + (element + i) / per_byte;
  for (; i + 8 <= count; i += 8, to += width) {
    const std::uint64_t word = PackWord(LoadWord(codes + i), static_cast<unsigned>(width));
    std::memcpy(to, &word, static_cast<std::size_t>(width));
  }
  for (; i < count; ++i) put();
}

// Puts the values of one record, `lines` of `line`, below each other, `length` apart.
void PutLines(const std::uint8_t* values, std::int64_t lines, std::int64_t line,
              std::int64_t length, std::uint8_t* to) {
  if (line == 1) {
    for (std::int64_t k = 0; k < lines; ++k) to[k * length] = values[k];
    return;
  }
  for (std::int64_t k = 0; k < lines; ++k)
    std::memcpy(to + k * length, values + k * line, static_cast<std::size_t>(line));
}

// Records along the last axis lie side by side: their codes are put together line by line before
// they are packed.
Result<void> ReadCodes(const FieldLayout& field, const Dims& grid, std::int64_t line,
                       std::int64_t records, RecordReader& reader, Tensor* tensor) {
  const std::int64_t across = grid.empty() ? 1 : grid.back();
  const std::int64_t lines = field.per_record / line, length = across * line;
  const int width = BitWidth(field.type);
  const auto mask = static_cast<std::uint8_t>((1U << static_cast<unsigned>(width)) - 1);
  std::vector<std::uint8_t> codes(static_cast<std::size_t>((lines * length + 7) / 8 * 8));
  std::vector<std::uint8_t> one(static_cast<std::size_t>(lines == 1 ? 0 : field.per_record));
  Dims bands = grid;
  if (!bands.empty()) bands.back() = 1;
  GridWalk walk(bands);
  for (std::int64_t read = 0; read < records; read += across, walk.Next()) {
    std::ranges::fill(codes, 0);
    for (std::int64_t r = 0; r < across; ++r) {
      const std::byte* record = reader.Next();
      if (record == nullptr) return reader.error();
      std::uint8_t* to = codes.data() + r * line;
      if (lines == 1) {
        ReadRuns(record, field, to);
        continue;
      }
      std::ranges::fill(one, 0);
      ReadRuns(record, field, one.data());
      PutLines(one.data(), lines, line, length, to);
    }
    MakeCodes(codes, static_cast<std::uint8_t>(field.flip), static_cast<std::uint8_t>(field.add),
              mask);
    const std::int64_t start = walk.StartOf(field);
    for (std::int64_t k = 0; k < lines; ++k) {
      PackLine(codes.data() + k * length, length, width,
               start + field.place[static_cast<std::size_t>(k * line)], tensor->bytes.data());
    }
  }
  return {};
}

// Factors have whole bytes.
template <typename T>
Result<void> ReadFactors(const FieldLayout& field, const Dims& grid, std::int64_t records,
                         RecordReader& reader, Tensor* tensor) {
  const std::span<T> to = tensor->As<T>();
  std::vector<T> values(static_cast<std::size_t>(field.per_record));
  GridWalk walk(grid);
  for (std::int64_t i = 0; i < records; ++i, walk.Next()) {
    const std::byte* record = reader.Next();
    if (record == nullptr) return reader.error();
    std::ranges::fill(values, T{0});
    ReadRuns(record, field, values.data());
    const std::int64_t start = walk.StartOf(field);
    for (std::size_t k = 0; k < values.size(); ++k) {
      to[static_cast<std::size_t>(start + field.place[k])] =
          static_cast<T>((values[k] ^ field.flip) + static_cast<std::uint32_t>(field.add));
    }
  }
  return {};
}

}  // namespace

Result<void> RecordLayout::CheckCarrier(const TensorData& data) const {
  if (data.data_type == ElementType::kUint8 && data.dims == Dims{bytes()}) return {};
  return Error{ErrorCode::kInvalid, "dims",
               FoundExpected(std::string(Name(data.data_type)) + ToString(data.dims),
                             "UINT8" + ToString(Dims{bytes()}) + ", " + std::to_string(records_) +
                                 " records of " + std::to_string(record_bytes_) + " bytes"),
               "encoding.C2"};
}

Result<Tensor> RecordLayout::Decode(const FieldLayout& field, const TensorData& data,
                                    const std::string& folder) const {
  QTX_RETURN_IF_ERROR(CheckCarrier(data));
  QTX_ASSIGN_OR_RETURN(const auto elements, FindElements(data, folder));
  QTX_ASSIGN_OR_RETURN(Tensor tensor, MakeTensor(field.type, field.dims));
  RecordReader reader(elements, record_bytes_);
  if (field.role == EncodedRole::kCode) {
    const std::int64_t line = record_shape_.empty() ? 1 : record_shape_.back();
    QTX_RETURN_IF_ERROR(ReadCodes(field, grid_, line, records_, reader, &tensor));
    return tensor;
  }
  const int width = BitWidth(field.type);
  QTX_RETURN_IF_ERROR(
      width == 8    ? ReadFactors<std::uint8_t>(field, grid_, records_, reader, &tensor)
      : width == 16 ? ReadFactors<std::uint16_t>(field, grid_, records_, reader, &tensor)
                    : ReadFactors<std::uint32_t>(field, grid_, records_, reader, &tensor));
  return tensor;
}

}  // namespace qtx::format
