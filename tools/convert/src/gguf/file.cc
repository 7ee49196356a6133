#include "gguf/file.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <numeric>
#include <unordered_set>

#include "gguf/ggml_types.h"
#include "qtx/format/limits.h"
#include "qtx/format/text.h"

namespace qtx::convert::gguf {
namespace {

constexpr std::int64_t kMaxEntries = 1 << 16;
constexpr std::int64_t kMaxTensors = 1 << 18;
constexpr std::uint32_t kMaxFileRank = 8;  // ggml itself has 4
constexpr std::int64_t kMaxNameBytes = 1024;
constexpr std::int64_t kMaxKeyBytes = 65535;
constexpr std::int64_t kMaxAlignment = 1 << 20;
constexpr std::int64_t kMaxFileBytes = std::int64_t{1} << 50;
constexpr int kMaxArrayDepth = 8;

template <typename T>
T Load(std::string_view bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

std::string Shown(std::string_view text) { return "'" + format::Printable(text).text() + "'"; }

// Reads the header from its begin; errors name the byte.
class Cursor {
 public:
  explicit Cursor(std::string_view bytes) : bytes_(bytes) {}

  std::int64_t at() const { return at_; }
  std::int64_t left() const { return std::ssize(bytes_) - at_; }

  Error At(std::int64_t byte, std::string message, ErrorCode code = ErrorCode::kInvalid) const {
    return {code, "byte " + std::to_string(byte), std::move(message)};
  }

  Result<std::string_view> Take(std::uint64_t size, const char* what) {
    if (size > static_cast<std::uint64_t>(left())) {
      return At(at_,
                "the file ends " + std::to_string(left()) + " bytes on, expected " +
                    std::to_string(size) + " of " + what,
                ErrorCode::kUnreadable);
    }
    if (at_ + static_cast<std::int64_t>(size) > kMaxHeaderBytes) {
      return At(at_, "expected a header of at most " + std::to_string(kMaxHeaderBytes) + " bytes",
                ErrorCode::kTooLarge);
    }
    const std::string_view taken =
        bytes_.substr(static_cast<std::size_t>(at_), static_cast<std::size_t>(size));
    at_ += static_cast<std::int64_t>(size);
    return taken;
  }

  template <typename T>
  Result<T> Number(const char* what) {
    QTX_ASSIGN_OR_RETURN(const std::string_view taken, Take(sizeof(T), what));
    return Load<T>(taken);
  }

  Result<std::string_view> Text(const char* what, std::int64_t longest) {
    const std::int64_t begin = at_;
    QTX_ASSIGN_OR_RETURN(const auto size, Number<std::uint64_t>(what));
    if (size > static_cast<std::uint64_t>(longest)) {
      return At(begin, "found " + std::to_string(size) + " bytes of " + what +
                           ", expected at most " + std::to_string(longest));
    }
    return Take(size, what);
  }

  // A count of things of at least `least` bytes each: no more than the file has space for.
  Result<std::int64_t> Count(const char* what, std::int64_t least, std::int64_t limit) {
    const std::int64_t begin = at_;
    QTX_ASSIGN_OR_RETURN(const auto count, Number<std::uint64_t>(what));
    const std::int64_t space = left() / least;
    if (count <= static_cast<std::uint64_t>(std::min(space, limit)))
      return static_cast<std::int64_t>(count);
    return At(
        begin,
        "found " + std::to_string(count) + " " + what + ", expected at most " +
            (space < limit ? std::to_string(space) + ", for which the file has bytes"
                           : std::to_string(limit)),
        count > static_cast<std::uint64_t>(limit) ? ErrorCode::kTooLarge : ErrorCode::kUnreadable);
  }

 private:
  std::string_view bytes_;
  std::int64_t at_ = 0;
};

class Parser {
 public:
  Parser(std::string_view bytes, bool has_data)
      : bytes_(bytes), cursor_(bytes), has_data_(has_data) {}

  Result<GgufFile> Parse() {
    QTX_RETURN_IF_ERROR(Beginning());
    QTX_RETURN_IF_ERROR(Metadata());
    QTX_RETURN_IF_ERROR(Alignment());
    file_.infos = cursor_.at();
    for (std::int64_t i = 0; i < tensors_; ++i) QTX_RETURN_IF_ERROR(Info());
    file_.data = std::min(AlignUp(cursor_.at(), file_.alignment), std::ssize(bytes_));
    if (has_data_) QTX_RETURN_IF_ERROR(Ranges());
    return std::move(file_);
  }

 private:
  Result<void> Beginning() {
    QTX_ASSIGN_OR_RETURN(const std::string_view magic, cursor_.Take(4, "magic"));
    if (magic != kMagic) return cursor_.At(0, "found another magic, expected 'GGUF'");
    QTX_ASSIGN_OR_RETURN(file_.version, cursor_.Number<std::uint32_t>("version"));
    if ((file_.version & 0xffffU) == 0 && file_.version != 0) {
      return cursor_.At(4, "found a big-endian file, expected a little-endian one",
                        ErrorCode::kUnsupported);
    }
    if (file_.version != 2 && file_.version != 3) {
      return cursor_.At(4, "found version " + std::to_string(file_.version) + ", expected 2 or 3",
                        ErrorCode::kUnsupported);
    }
    QTX_ASSIGN_OR_RETURN(tensors_, cursor_.Count("tensors", 24, kMaxTensors));
    QTX_ASSIGN_OR_RETURN(entries_, cursor_.Count("metadata entries", 13, kMaxEntries));
    return {};
  }

  Result<void> Metadata() {
    std::unordered_set<std::string_view> keys;
    for (std::int64_t i = 0; i < entries_; ++i) {
      const std::int64_t begin = cursor_.at();
      Entry entry;
      QTX_ASSIGN_OR_RETURN(entry.key, cursor_.Text("a key", kMaxKeyBytes));
      if (entry.key.empty()) return cursor_.At(begin, "found an empty key of the metadata");
      if (!keys.insert(entry.key).second)
        return cursor_.At(begin, "found key " + Shown(entry.key) + " again");
      QTX_ASSIGN_OR_RETURN(const auto type, cursor_.Number<std::uint32_t>("type of a value"));
      entry.type = static_cast<ValueType>(type);
      const std::int64_t value = cursor_.at();
      if (auto skipped = Value(entry.type, 0); !skipped.has_value())
        return qtx::At("key " + Shown(entry.key), skipped.error());
      entry.value = bytes_.substr(static_cast<std::size_t>(value),
                                  static_cast<std::size_t>(cursor_.at() - value));
      file_.metadata.push_back(entry);
    }
    return {};
  }

  // Goes past a value.
  Result<void> Value(ValueType type, int depth) {
    if (const std::int64_t size = FixedSize(type); size > 0) {
      QTX_RETURN_IF_ERROR(cursor_.Take(static_cast<std::uint64_t>(size), "a value"));
      return {};
    }
    if (type == ValueType::kText) {
      QTX_RETURN_IF_ERROR(cursor_.Text("a text", kMaxHeaderBytes));
      return {};
    }
    if (type == ValueType::kArray) return Array(depth);
    return cursor_.At(cursor_.at() - 4, "found type " +
                                            std::to_string(static_cast<std::uint32_t>(type)) +
                                            " of a value, expected 0 to 12");
  }

  Result<void> Array(int depth) {
    if (depth == kMaxArrayDepth) {
      return cursor_.At(cursor_.at(),
                        "found more than " + std::to_string(kMaxArrayDepth) + " nested arrays");
    }
    QTX_ASSIGN_OR_RETURN(const auto code, cursor_.Number<std::uint32_t>("type of elements"));
    const auto type = static_cast<ValueType>(code);
    const std::int64_t size = FixedSize(type);
    const std::int64_t least = size > 0 ? size : type == ValueType::kArray ? 12 : 8;
    QTX_ASSIGN_OR_RETURN(const std::int64_t count,
                         cursor_.Count("elements of an array", least, kMaxHeaderBytes));
    if (size > 0) {
      QTX_RETURN_IF_ERROR(cursor_.Take(static_cast<std::uint64_t>(count * size), "an array"));
      return {};
    }
    if (type != ValueType::kText && type != ValueType::kArray) {
      return cursor_.At(cursor_.at() - 12,
                        "found elements of type " + std::to_string(code) + ", expected 0 to 12");
    }
    for (std::int64_t i = 0; i < count; ++i) QTX_RETURN_IF_ERROR(Value(type, depth + 1));
    return {};
  }

  Result<void> Alignment() {
    const Entry* entry = file_.Find(kAlignmentKey);
    if (entry == nullptr) return {};
    const auto value = entry->type == ValueType::kUint32 ? entry->Integer() : std::nullopt;
    if (!value || *value < 1 || *value > kMaxAlignment ||
        !std::has_single_bit(static_cast<std::uint64_t>(*value))) {
      return Error{
          ErrorCode::kInvalid, "key " + Shown(kAlignmentKey),
          "expected a UINT32 that is a power of two of at most " + std::to_string(kMaxAlignment)};
    }
    file_.alignment = *value;
    return {};
  }

  Result<void> Info() {
    const std::int64_t begin = cursor_.at();
    TensorInfo info;
    QTX_ASSIGN_OR_RETURN(const std::string_view name,
                         cursor_.Text("the name of a tensor", kMaxNameBytes));
    info.name = name;
    // A name is shown as it is where all of it is UTF-8 that a terminal shows.
    if (name.empty() || format::Printable(name, name.size()).text() != name) {
      return cursor_.At(begin, "found tensor name " + Shown(name) +
                                   ", expected a text without control characters");
    }
    if (!names_.insert(info.name).second)
      return cursor_.At(begin, "found tensor " + Shown(name) + " again");
    auto read = ShapeAndPlace(info);
    if (!read.has_value()) return qtx::At("tensor " + Shown(name), read.error());
    file_.tensors.push_back(std::move(info));
    return {};
  }

  Result<void> ShapeAndPlace(TensorInfo& info) {
    QTX_ASSIGN_OR_RETURN(const auto rank, cursor_.Number<std::uint32_t>("rank"));
    if (rank > kMaxFileRank) {
      return cursor_.At(cursor_.at() - 4, "found rank " + std::to_string(rank) +
                                              ", expected at most " + std::to_string(kMaxFileRank));
    }
    for (std::uint32_t i = 0; i < rank; ++i) {
      QTX_ASSIGN_OR_RETURN(const auto size, cursor_.Number<std::uint64_t>("size of a dimension"));
      if (size < 1 || size > static_cast<std::uint64_t>(format::kMaxElements)) {
        return cursor_.At(cursor_.at() - 8, "found a dimension of " + std::to_string(size) +
                                                ", expected 1 to " +
                                                std::to_string(format::kMaxElements));
      }
      info.dims.insert(info.dims.begin(), static_cast<std::int64_t>(size));
    }
    QTX_ASSIGN_OR_RETURN(info.type, cursor_.Number<std::uint32_t>("type"));
    QTX_ASSIGN_OR_RETURN(const auto offset, cursor_.Number<std::uint64_t>("offset"));
    if (offset > static_cast<std::uint64_t>(kMaxFileBytes) ||
        (has_data_ && offset > static_cast<std::uint64_t>(std::ssize(bytes_))) ||
        offset % static_cast<std::uint64_t>(file_.alignment) != 0) {
      return cursor_.At(cursor_.at() - 8, "found offset " + std::to_string(offset) +
                                              ", expected a multiple of " +
                                              std::to_string(file_.alignment) + " within the file");
    }
    info.offset = static_cast<std::int64_t>(offset);
    return Size(info);
  }

  // -1 for a type whose size nobody knows: Ranges gives it all bytes up to the next tensor.
  Result<void> Size(TensorInfo& info) const {
    QTX_ASSIGN_OR_RETURN(const std::int64_t count,
                         format::ElementCount(std::span<const std::int64_t>(info.dims)));
    const GgmlType* type = FindGgmlType(info.type);
    info.size = -1;
    if (type == nullptr || type->bytes == 0) return {};
    const std::int64_t row = info.dims.empty() ? 1 : info.dims.back();
    if (row % type->block != 0) {
      return Error{ErrorCode::kInvalid, "",
                   "found rows of " + std::to_string(row) + " elements, expected a multiple of " +
                       std::to_string(type->block) + ", the block of " + std::string(type->name)};
    }
    info.size = count / type->block * type->bytes;
    return {};
  }

  // Where the tensors lie: all within the file, none upon another.
  Result<void> Ranges() {
    std::vector<TensorInfo*> order;
    for (TensorInfo& info : file_.tensors) {
      info.offset += AlignUp(cursor_.at(), file_.alignment);
      order.push_back(&info);
    }
    std::ranges::stable_sort(order, {}, &TensorInfo::offset);
    std::int64_t end = file_.data;
    for (std::size_t i = 0; i < order.size(); ++i) {
      TensorInfo& info = *order[i];
      const std::string place = "tensor " + Shown(info.name);
      if (info.offset < end) {
        return Error{ErrorCode::kInvalid, place,
                     "begins at byte " + std::to_string(info.offset) + ", where tensor " +
                         Shown(order[i - 1]->name) + " lies, expected " + std::to_string(end) +
                         " or more"};
      }
      const std::int64_t limit = i + 1 < order.size() ? order[i + 1]->offset : std::ssize(bytes_);
      if (info.size < 0) info.size = std::max<std::int64_t>(limit - info.offset, 0);
      if (info.size > std::ssize(bytes_) - info.offset) {
        return Error{ErrorCode::kUnreadable, place,
                     "the file has " + std::to_string(std::ssize(bytes_)) + " bytes, expected " +
                         std::to_string(info.size) + " at " + std::to_string(info.offset)};
      }
      AddGap(end, info.offset, i == 0);
      end = info.offset + info.size;
    }
    AddGap(end, std::ssize(bytes_), order.empty());
    return {};
  }

  // Bytes `from` to `to`, unless they are the zeros with which a writer fills up the alignment.
  void AddGap(std::int64_t from, std::int64_t to, bool first) {
    const std::int64_t usual = first ? from : AlignUp(from, file_.alignment);
    const std::string_view between =
        bytes_.substr(static_cast<std::size_t>(from), static_cast<std::size_t>(to - from));
    if (to == usual && between.find_first_not_of('\0') == std::string_view::npos) return;
    file_.gaps.push_back({from, to - from});
  }

  std::string_view bytes_;
  Cursor cursor_;
  const bool has_data_;
  GgufFile file_;
  std::int64_t tensors_ = 0, entries_ = 0;
  std::unordered_set<std::string> names_;
};

}  // namespace

const Entry* GgufFile::Find(std::string_view key) const {
  const auto found = std::ranges::find(metadata, key, &Entry::key);
  return found == metadata.end() ? nullptr : &*found;
}

Result<GgufFile> ParseGguf(std::string_view bytes) { return Parser(bytes, true).Parse(); }

Result<GgufFile> ParseGgufHeader(std::string_view header) { return Parser(header, false).Parse(); }

}  // namespace qtx::convert::gguf
