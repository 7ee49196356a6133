// The container of GGUF: a header with metadata and tensor infos, then the tensors' bytes.
//
//   magic "GGUF" | version u32 | tensors u64 | metadata entries u64
//   each entry:  key | type u32 | value          a text is its length (u64) and its bytes, an array
//   each tensor: name | rank u32 | sizes u64 .. | type u32 | offset u64      type, length, values
//   zeros up to a multiple of general.alignment (32); from there on the offsets count
//
// Source: docs/gguf.md of ggml; versions 2 and 3, little-endian.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "qtx/format/result.h"
#include "qtx/format/shape.h"

namespace qtx::convert::gguf {

inline constexpr std::string_view kMagic = "GGUF";
inline constexpr std::int64_t kDefaultAlignment = 32;
inline constexpr std::string_view kAlignmentKey = "general.alignment";

enum class ValueType : std::uint32_t {
  kUint8 = 0,
  kInt8 = 1,
  kUint16 = 2,
  kInt16 = 3,
  kUint32 = 4,
  kInt32 = 5,
  kFloat32 = 6,
  kBool = 7,
  kText = 8,
  kArray = 9,
  kUint64 = 10,
  kInt64 = 11,
  kFloat64 = 12,
};

/// One entry of the metadata. Borrows the file's bytes.
struct Entry {
  std::string_view key;
  ValueType type = ValueType::kUint8;
  std::string_view value;  // as the file has it

  /// The value as an integer (a BOOL is 0 or 1); nullopt for other types, and beyond int64.
  std::optional<std::int64_t> Integer() const;
  /// An integer or a float.
  std::optional<double> Number() const;
  std::optional<std::string_view> Text() const;
  /// The elements of an array of integers, BOOLs or floats; nullopt for other types.
  std::optional<std::vector<double>> Numbers() const;
};

struct TensorInfo {
  std::string name;
  std::uint32_t type = 0;   // an id of ggml_types.h, or another
  format::Dims dims;        // as ONNX has them, the reverse of the file's
  std::int64_t offset = 0;  // from the file's begin, in bytes
  std::int64_t size = 0;    // in bytes
};

/// Bytes that no tensor has and that a writer would not put there.
struct Gap {
  std::int64_t offset = 0, size = 0;
};

struct GgufFile {
  std::uint32_t version = 3;
  std::int64_t alignment = kDefaultAlignment;
  std::vector<Entry> metadata;
  std::vector<TensorInfo> tensors;  // in the file's order
  std::int64_t infos = 0;           // where the tensor infos begin
  std::int64_t data = 0;            // where the data begins
  std::vector<Gap> gaps;

  const Entry* Find(std::string_view key) const;  // nullptr: there is none
};

/// `bytes` are a whole file; what it borrows of them must stay. Checks all counts, lengths, names
/// and ranges, in time linear in the header (and in its logarithm for the tensors).
/// Errors: kInvalid and kUnreadable (the file ends early), at a byte or tensor; kUnsupported for a
/// big-endian file or another version; kTooLarge for a header past kMaxHeaderBytes.
Result<GgufFile> ParseGguf(std::string_view bytes);
/// The same of the header alone, up to GgufFile::data: offsets are those within the data, a size is
/// -1 where only the file tells it, and there are no gaps.
Result<GgufFile> ParseGgufHeader(std::string_view header);

inline constexpr std::int64_t kMaxHeaderBytes = std::int64_t{1} << 28;

/// Bytes of a value of fixed size; 0 for a text, an array and types that there are not.
std::int64_t FixedSize(ValueType type);

/// `value` up to a multiple of `alignment`.
inline std::int64_t AlignUp(std::int64_t value, std::int64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

}  // namespace qtx::convert::gguf
