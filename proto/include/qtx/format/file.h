// Whole files in and out: bounded reads, atomic writes, and bytes that stay where they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "qtx/format/result.h"

namespace qtx::format {

/// Bytes of a file that stay there until somebody asks for them. The file must outlive the use.
struct FileRange {
  std::string path;
  std::int64_t offset = 0;  // in bytes
  std::int64_t size = 0;    // in bytes
  bool operator==(const FileRange&) const = default;
};

/// Reads `to.size()` bytes from `at` bytes within `range` on.
/// Errors: kIo (also when the file has become shorter).  REQUIRES: they lie within the range.
Result<void> ReadRange(const FileRange& range, std::int64_t at, std::span<std::byte> to);

/// Errors: kIo, kTooLarge past `limit`. "-" is stdin.
Result<std::string> ReadFile(const std::string& path, std::int64_t limit);

/// A file's bytes: read, or for a large one mapped, so that only what is looked at takes memory.
class FileBytes {
 public:
  /// Files above this are mapped.
  static constexpr std::int64_t kMapped = std::int64_t{64} << 20;

  /// Errors: those of ReadFile.
  static Result<FileBytes> Open(const std::string& path, std::int64_t limit);
  FileBytes() = default;
  explicit FileBytes(std::string bytes) : read_(std::move(bytes)) {}
  FileBytes(FileBytes&& other) noexcept;
  FileBytes& operator=(FileBytes&& other) noexcept;
  ~FileBytes();

  std::string_view view() const { return mapped_.empty() ? std::string_view(read_) : mapped_; }
  bool mapped() const { return !mapped_.empty(); }

 private:
  std::string read_;
  std::string_view mapped_;
};

/// What a file is made of, in order.
using Piece = std::variant<std::string, FileRange>;
/// Bytes written so far, and in all.
using WriteProgress = std::function<void(std::int64_t done, std::int64_t total)>;

/// Writes a temporary file beside `path`, flushes, renames. A pipe or device, and "-" for stdout,
/// are written in place.  Errors: kIo.
Result<void> WriteFileAtomically(const std::string& path, std::string_view bytes);
Result<void> WriteFileAtomically(const std::string& path, std::span<const Piece> pieces,
                                 const WriteProgress& progress = {});

}  // namespace qtx::format
