#include "qtx/format/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "qtx/format/limits.h"

namespace qtx::format {
namespace {

constexpr std::size_t kHead = std::size_t{1} << 16;     // bytes of a read
constexpr std::int64_t kStep = std::int64_t{16} << 20;  // bytes between two calls of a progress

Error SystemError(const std::string& path) { return {ErrorCode::kIo, path, std::strerror(errno)}; }

class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (value_ >= 0) close(value_);
  }
  int value() const { return value_; }
  bool Close() { return close(std::exchange(value_, -1)) == 0; }

 private:
  int value_;
};

Result<void> CheckReadable(const std::string& path, const struct stat& status, std::int64_t limit) {
  if (S_ISDIR(status.st_mode))
    return Error{ErrorCode::kIo, path, "found a folder, expected a file"};
  if (status.st_size <= limit) return {};
  return Error{ErrorCode::kTooLarge, path, "expected at most " + std::to_string(limit) + " bytes"};
}

Result<void> CheckBeginning(std::string_view bytes, const std::string& path, CheckHead check) {
  if (check == nullptr || bytes.empty()) return {};
  const auto checked = check(bytes.substr(0, kHead));
  return checked.has_value() ? checked : At(path, checked.error());
}

// A pipe has no size, so it is read until its end.
Result<std::string> ReadAll(int descriptor, const std::string& path, std::int64_t limit,
                            CheckHead check) {
  struct stat status {};
  if (fstat(descriptor, &status) != 0) return SystemError(path);
  QTX_RETURN_IF_ERROR(CheckReadable(path, status, limit));
  if (S_ISCHR(status.st_mode)) limit = std::min(limit, kMaxDeviceBytes);
  std::string bytes;
  bytes.reserve(static_cast<std::size_t>(status.st_size));
  const auto buffer = std::make_unique<char[]>(kHead);
  for (;;) {
    const ssize_t count = read(descriptor, buffer.get(), kHead);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return SystemError(path);
    if (count == 0) return bytes;
    if (bytes.empty()) {
      const std::string_view first(buffer.get(), static_cast<std::size_t>(count));
      QTX_RETURN_IF_ERROR(CheckBeginning(first, path, check));
    }
    bytes.append(buffer.get(), static_cast<std::size_t>(count));
    if (static_cast<std::int64_t>(bytes.size()) <= limit) continue;
    return Error{ErrorCode::kTooLarge, path,
                 "expected at most " + std::to_string(limit) + " bytes"};
  }
}

// Writes pieces to a descriptor, and says how far it is.
class Writer {
 public:
  Writer(int descriptor, const std::string& path, const WriteProgress& progress)
      : descriptor_(descriptor), path_(path), progress_(progress) {}

  Result<void> Write(std::span<const Piece> pieces) {
    for (const Piece& piece : pieces) {
      const auto* range = std::get_if<FileRange>(&piece);
      total_ += range != nullptr ? range->size
                                 : static_cast<std::int64_t>(std::get<std::string>(piece).size());
    }
    for (const Piece& piece : pieces) {
      const auto* range = std::get_if<FileRange>(&piece);
      QTX_RETURN_IF_ERROR(range != nullptr ? Copy(*range) : Put(std::get<std::string>(piece)));
    }
    return {};
  }

  Result<void> Put(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t written =
          write(descriptor_, bytes.data(), std::min<std::size_t>(bytes.size(), kStep));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return SystemError(path_);
      bytes.remove_prefix(static_cast<std::size_t>(written));
      Advance(written);
    }
    return {};
  }

 private:
  // By the kernel where it can, so that the bytes never come here.
  Result<void> Copy(FileRange range) {
    Descriptor source(open(range.path.c_str(), O_RDONLY | O_CLOEXEC));
    if (source.value() < 0) return SystemError(range.path);
    while (range.size > 0) {
      off_t offset = range.offset;
      const ssize_t copied =
          copy_file_range(source.value(), &offset, descriptor_, nullptr,
                          static_cast<std::size_t>(std::min(range.size, kStep)), 0);
      if (copied < 0 && errno == EINTR) continue;
      if (copied <= 0) return CopyThroughMemory(range);
      range.offset += copied;
      range.size -= copied;
      Advance(copied);
    }
    return {};
  }

  Result<void> CopyThroughMemory(const FileRange& range) {
    std::string buffer;
    for (std::int64_t at = 0; at < range.size;) {
      buffer.resize(static_cast<std::size_t>(std::min(range.size - at, kStep / 16)));
      const auto bytes = std::as_writable_bytes(std::span(buffer));
      QTX_RETURN_IF_ERROR(ReadRange(range, at, bytes));
      QTX_RETURN_IF_ERROR(Put(buffer));
      at += static_cast<std::int64_t>(buffer.size());
    }
    return {};
  }

  void Advance(std::int64_t bytes) {
    done_ += bytes;
    if (progress_) progress_(done_, total_);
  }

  const int descriptor_;
  const std::string& path_;
  const WriteProgress& progress_;
  std::int64_t done_ = 0, total_ = 0;
};

// A device or a pipe: renaming a file over it would take it away.
Result<void> WriteInPlace(const std::string& path, std::span<const Piece> pieces,
                          const WriteProgress& progress) {
  if (path == "-") return Writer(STDOUT_FILENO, path, progress).Write(pieces);
  Descriptor descriptor(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (descriptor.value() < 0) return SystemError(path);
  QTX_RETURN_IF_ERROR(Writer(descriptor.value(), path, progress).Write(pieces));
  if (!descriptor.Close()) return SystemError(path);
  return {};
}

// Where the bytes of `path` are: a link stays a link.
std::string TargetOf(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> target(realpath(path.c_str(), nullptr),
                                                           &std::free);
  return target == nullptr ? path : target.get();
}

// A new file of a name that nobody has, as readable as any file the user creates: mkstemp's are
// not, and a process can ask for its umask only by changing it.
int CreateBeside(const std::string& target, std::string& temporary) {
  static std::atomic<unsigned> next = 0;
  for (;;) {
    temporary = target + "." + std::to_string(getpid()) + "-" + std::to_string(next++) + ".tmp";
    const int descriptor = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                                S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH);
    if (descriptor >= 0 || errno != EEXIST) return descriptor;
  }
}

}  // namespace

Result<void> ReadRange(const FileRange& range, std::int64_t at, std::span<std::byte> to) {
  const Descriptor source(open(range.path.c_str(), O_RDONLY | O_CLOEXEC));
  if (source.value() < 0) return SystemError(range.path);
  for (off_t offset = range.offset + at; !to.empty();) {
    const ssize_t count = pread(source.value(), to.data(), to.size(), offset);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return SystemError(range.path);
    if (count == 0) {
      return Error{ErrorCode::kIo, range.path,
                   "ends at byte " + std::to_string(offset) + ", expected " +
                       std::to_string(to.size()) + " more"};
    }
    offset += count;
    to = to.subspan(static_cast<std::size_t>(count));
  }
  return {};
}

Result<std::string> ReadFile(const std::string& path, std::int64_t limit, CheckHead check) {
  if (path == "-") return ReadAll(STDIN_FILENO, "stdin", limit, check);
  const Descriptor source(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (source.value() < 0) return SystemError(path);
  return ReadAll(source.value(), path, limit, check);
}

Result<FileBytes> FileBytes::Open(const std::string& path, std::int64_t limit, CheckHead check) {
  FileBytes bytes;
  struct stat status {};
  const bool large = path != "-" && stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
                     status.st_size > kMapped;
  if (!large) {
    QTX_ASSIGN_OR_RETURN(bytes.read_, ReadFile(path, limit, check));
    return bytes;
  }
  QTX_RETURN_IF_ERROR(CheckReadable(path, status, limit));
  const Descriptor source(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (source.value() < 0) return SystemError(path);
  const auto size = static_cast<std::size_t>(status.st_size);
  const void* data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, source.value(), 0);
  if (data == MAP_FAILED) return SystemError(path);
  bytes.mapped_ = {static_cast<const char*>(data), size};
  QTX_RETURN_IF_ERROR(CheckBeginning(bytes.mapped_, path, check));
  return bytes;
}

FileBytes::FileBytes(FileBytes&& other) noexcept
    : read_(std::move(other.read_)), mapped_(std::exchange(other.mapped_, {})) {}

FileBytes& FileBytes::operator=(FileBytes&& other) noexcept {
  std::swap(read_, other.read_);
  std::swap(mapped_, other.mapped_);
  return *this;
}

FileBytes::~FileBytes() {
  if (mapped()) munmap(const_cast<char*>(mapped_.data()), mapped_.size());
}

Result<void> WriteFileAtomically(const std::string& path, std::span<const Piece> pieces,
                                 const WriteProgress& progress) {
  struct stat status {};
  const bool exists = path == "-" || stat(path.c_str(), &status) == 0;
  if (exists && !S_ISREG(status.st_mode)) {
    if (!S_ISDIR(status.st_mode)) return WriteInPlace(path, pieces, progress);
    return Error{ErrorCode::kIo, path, "found a folder, expected a file"};
  }
  const std::string target = TargetOf(path);
  std::string temporary;
  Descriptor descriptor(CreateBeside(target, temporary));
  if (descriptor.value() < 0) return SystemError(path);
  auto written = Writer(descriptor.value(), path, progress).Write(pieces);
  if (written.has_value() && fsync(descriptor.value()) != 0) written = SystemError(path);
  const bool closed = descriptor.Close();
  if (written.has_value() && closed && std::rename(temporary.c_str(), target.c_str()) == 0)
    return {};
  const Error error = written.has_value() ? SystemError(path) : written.error();
  unlink(temporary.c_str());
  return error;
}

Result<void> WriteFileAtomically(const std::string& path, std::string_view bytes) {
  const Piece piece{std::string(bytes)};
  return WriteFileAtomically(path, std::span(&piece, 1));
}

}  // namespace qtx::format
