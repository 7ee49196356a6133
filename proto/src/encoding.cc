// Records read into tensors: one routine for every encoding. encoding_write.cc is the way back.
#include "qtx/format/encoding.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <variant>

#include "bit_runs.h"
#include "carrier.h"
#include "check_rules.h"
#include "code_lines.h"
#include "encoding_walk.h"

namespace qtx::format {
namespace {

using encoding::kSlack;
using encoding::MakeCodes;
using encoding::PackLine;
using encoding::ReadRuns;

constexpr std::int64_t kChunk = std::int64_t{1} << 18;  // bytes read at a time: they stay in cache

// Records in order.
class RecordReader {
 public:
  using Source = std::variant<FileRange, std::span<const std::byte>>;

  RecordReader(Source source, std::int64_t record_bytes)
      : source_(std::move(source)), record_bytes_(record_bytes) {}

  // The next record, with kSlack readable bytes behind it; nullptr once a read has failed.
  const std::byte* Next() {
    if (at_ == end_ && !Read()) return nullptr;
    const std::byte* record = from_ + at_;
    at_ += record_bytes_;
    return record;
  }
  // Of ReadRange, after Next gave nullptr.
  const Error& error() const { return *error_; }

 private:
  bool Read() {
    at_ = 0;
    if (const auto* bytes = std::get_if<std::span<const std::byte>>(&source_)) {
      ReadFrom(*bytes);
      return true;
    }
    const auto& range = std::get<FileRange>(source_);
    const std::int64_t most = std::max<std::int64_t>(kChunk / record_bytes_, 1) * record_bytes_;
    end_ = std::min(most, range.size - read_);
    if (auto read = ReadRange(range, read_, Chunk()); !read.has_value()) {
      error_ = read.error();
      return false;
    }
    read_ += end_;
    return true;
  }

  // Records lie where they are, but for the last, behind which nothing may be read.
  void ReadFrom(std::span<const std::byte> bytes) {
    const std::int64_t left = std::ssize(bytes) - read_;
    const std::byte* begin = bytes.data() + read_;
    const std::int64_t whole =
        (left - static_cast<std::int64_t>(kSlack)) / record_bytes_ * record_bytes_;
    end_ = whole > 0 ? whole : left;
    read_ += end_;
    from_ = begin;
    if (whole <= 0) std::memcpy(Chunk().data(), begin, static_cast<std::size_t>(end_));
  }

  // Room for end_ bytes, where records are taken from then.
  std::span<std::byte> Chunk() {
    chunk_.resize(static_cast<std::size_t>(end_) + kSlack);
    from_ = chunk_.data();
    return std::span(chunk_).first(static_cast<std::size_t>(end_));
  }

  const Source source_;
  const std::int64_t record_bytes_;
  std::vector<std::byte> chunk_;
  const std::byte* from_ = nullptr;
  std::int64_t at_ = 0, end_ = 0, read_ = 0;
  std::optional<Error> error_;
};

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

Result<void> ReadCodes(const FieldLayout& field, const Dims& grid, std::int64_t line,
                       std::int64_t records, RecordReader& reader, Tensor* tensor) {
  const CodeBands bands(field, grid, line);
  std::vector<std::uint8_t> codes = bands.Codes();
  std::vector<std::uint8_t> one(static_cast<std::size_t>(bands.lines == 1 ? 0 : field.per_record));
  GridWalk walk(bands.grid);
  for (std::int64_t read = 0; read < records; read += bands.across, walk.Next()) {
    std::ranges::fill(codes, 0);
    for (std::int64_t r = 0; r < bands.across; ++r) {
      const std::byte* record = reader.Next();
      if (record == nullptr) return reader.error();
      std::uint8_t* to = codes.data() + r * line;
      if (bands.lines == 1) {
        ReadRuns(record, field.runs, to);
        continue;
      }
      std::ranges::fill(one, 0);
      ReadRuns(record, field.runs, one.data());
      PutLines(one.data(), bands.lines, line, bands.length, to);
    }
    MakeCodes(codes, static_cast<std::uint8_t>(field.flip), static_cast<std::uint8_t>(field.add),
              bands.mask);
    const std::int64_t start = walk.StartOf(field);
    for (std::int64_t k = 0; k < bands.lines; ++k) {
      PackLine(codes.data() + k * bands.length, bands.length, bands.width,
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
    ReadRuns(record, field.runs, values.data());
    const std::int64_t start = walk.StartOf(field);
    for (std::size_t k = 0; k < values.size(); ++k) {
      to[static_cast<std::size_t>(start + field.place[k])] =
          static_cast<T>((values[k] ^ field.flip) + static_cast<std::uint32_t>(field.add));
    }
  }
  return {};
}

Result<Tensor> ReadField(const FieldLayout& field, const Dims& grid, std::int64_t line,
                         std::int64_t records, RecordReader reader) {
  QTX_ASSIGN_OR_RETURN(Tensor tensor, MakeTensor(field.type, field.dims));
  const int width = BitWidth(field.type);
  QTX_RETURN_IF_ERROR(
      field.role == EncodedRole::kCode ? ReadCodes(field, grid, line, records, reader, &tensor)
      : width == 8  ? ReadFactors<std::uint8_t>(field, grid, records, reader, &tensor)
      : width == 16 ? ReadFactors<std::uint16_t>(field, grid, records, reader, &tensor)
                    : ReadFactors<std::uint32_t>(field, grid, records, reader, &tensor));
  return tensor;
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
  if (const auto* tensor = std::get_if<Tensor>(&elements)) return Decode(field, tensor->bytes);
  return ReadField(field, grid_, Line(), records_,
                   RecordReader(std::get<FileRange>(elements), record_bytes_));
}

Result<Tensor> RecordLayout::Decode(const FieldLayout& field,
                                    std::span<const std::byte> records) const {
  return ReadField(field, grid_, Line(), records_, RecordReader(records, record_bytes_));
}

}  // namespace qtx::format
