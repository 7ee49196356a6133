// Reading and writing whole files: bounded reads, memory mapping, atomic writes.
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

/// A file descriptor that is closed at the end; -1 for none.
class Descriptor {
 public:
  explicit Descriptor(int value = -1) : value_(value) {}
  Descriptor(Descriptor&& other) noexcept : value_(std::exchange(other.value_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  ~Descriptor();
  int value() const { return value_; }

 private:
  int value_;
};

/// A range of a file that is read on demand. The file must exist until then.
struct FileRange {
  std::string path;
  std::int64_t offset = 0;  // in bytes
  std::int64_t size = 0;    // in bytes
  bool operator==(const FileRange&) const = default;
};

/// Reads `to.size()` bytes of `range`, starting at its byte `at`.
/// Errors: kUnreadable (also when the file has been truncated).  REQUIRES: the bytes lie within
/// `range`.
Result<void> ReadRange(const FileRange& range, std::int64_t at, std::span<std::byte> to);

/// Looks at the first bytes of a file, at most 64 KiB; an error ends the reading.
using CheckHead = Result<void> (*)(std::string_view head);

/// "-" is stdin. A FIFO is given two seconds to find a writer; what is neither it, a pipe nor stdin
/// two seconds for its next bytes.
/// Errors: kUnreadable, kMemory, kTooLarge past `limit`, for a device past kMaxDeviceBytes; those
/// of `check`.
Result<std::string> ReadFile(const std::string& path, std::int64_t limit,
                             CheckHead check = nullptr);

/// The bytes of a file: read into memory, or memory-mapped if the file is large.
class FileBytes {
 public:
  /// Files above this are mapped.
  static constexpr std::int64_t kMapped = std::int64_t{64} << 20;

  /// Errors: those of ReadFile.
  static Result<FileBytes> Open(const std::string& path, std::int64_t limit,
                                CheckHead check = nullptr);
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

/// The name, as Printable shows it, of the mapped file that `address` is in, or nullptr. A handler
/// of SIGBUS may call it: that signal comes when a page is read that the file, cut since, has no
/// more.
const char* MappedFileAt(const void* address);

/// The pieces of a file, in order.
using Piece = std::variant<std::string, FileRange>;
/// Called with the bytes written so far and in total.
using WriteProgress = std::function<void(std::int64_t done, std::int64_t total)>;

/// Writes a temporary file beside `path`, flushes, renames; a file that is replaced keeps its mode
/// and, where that is permitted, its owner. A pipe or device, and "-" for stdout, are written in
/// place. The temporary file is locked (flock) by its writer: one that nobody has locked is the
/// leftover of a killed process, and the next write of `path` removes it.
/// Errors: kIo; those of ReadRange for a piece.
Result<void> WriteFileAtomically(const std::string& path, std::string_view bytes);
Result<void> WriteFileAtomically(const std::string& path, std::span<const Piece> pieces,
                                 const WriteProgress& progress = {});

/// As WriteFileAtomically, where there is no such file: replaces none that another process has
/// written meanwhile.  Errors: those, and kIo for that.
Result<void> WriteNewFile(const std::string& path, std::span<const Piece> pieces,
                          const WriteProgress& progress = {});

/// A folder for outputs. Of what was made for it, folders that are empty in the end are removed.
class OutputFolder {
 public:
  /// Makes the folder and those that it lies in, where they are missing; "" needs none.
  /// Errors: kIo at `path`.
  static Result<OutputFolder> Make(const std::string& path);
  OutputFolder(OutputFolder&&) noexcept = default;
  OutputFolder& operator=(OutputFolder&&) = delete;
  ~OutputFolder();

 private:
  OutputFolder() = default;
  std::vector<std::string> made_;  // a folder before those that it lies in
};

/// Keeps other processes from the file at `path`, until the end of the object or of the process:
/// a file beside it that is locked (flock) and at the end removed.
class FileLock {
 public:
  /// Errors: kIo at `path`, also when another process has the lock.
  static Result<FileLock> Take(const std::string& path);
  FileLock(FileLock&&) noexcept = default;
  FileLock& operator=(FileLock&&) noexcept = default;
  ~FileLock();

 private:
  FileLock(std::string path, Descriptor file) : path_(std::move(path)), file_(std::move(file)) {}
  std::string path_;
  Descriptor file_;
};

}  // namespace qtx::format
