// Reading: ranges, whole files, mapped files.
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include "qtx/format/file.h"
#include "qtx/format/limits.h"
#include "qtx/format/text.h"

namespace qtx::format {
namespace {

constexpr std::size_t kHead = std::size_t{1} << 16;  // bytes of a read
constexpr int kWait = 2000;  // milliseconds for a writer of a FIFO, and bytes of what is no pipe

Error Unreadable(const std::string& path) {
  return {ErrorCode::kUnreadable, path, std::strerror(errno)};
}

Result<void> CheckReadable(const std::string& path, const struct stat& status, std::int64_t limit) {
  if (S_ISDIR(status.st_mode))
    return Error{ErrorCode::kUnreadable, path, "found a folder, expected a file"};
  if (status.st_size <= limit) return {};
  return Error{ErrorCode::kTooLarge, path, "expected at most " + std::to_string(limit) + " bytes"};
}

Result<void> CheckBeginning(std::string_view bytes, const std::string& path, CheckHead check) {
  if (check == nullptr || bytes.empty()) return {};
  const auto checked = check(bytes.substr(0, kHead));
  return checked.has_value() ? checked : At(path, checked.error());
}

// False when `milliseconds` (-1: no limit) pass without bytes or the end of a writer.
bool Await(int descriptor, int milliseconds) {
  pollfd events{descriptor, POLLIN, 0};
  return poll(&events, 1, milliseconds) != 0;
}

// True for a FIFO, whose readers wait for a writer, but not for the pipe of /dev/stdin or <(...).
bool IsFifo(const std::string& path) {
  struct stat status {};
  struct statfs system {};
  return stat(path.c_str(), &status) == 0 && S_ISFIFO(status.st_mode) &&
         statfs(path.c_str(), &system) == 0 && system.f_type != PIPEFS_MAGIC;
}

// A pipe has no size, so it is read until its end, and stdin too, however slow the writer is. What
// else gives no bytes (a device, /proc/kmsg) may never give any.
Result<std::string> ReadAll(int descriptor, const std::string& path, std::int64_t limit,
                            CheckHead check) {
  struct stat status {};
  if (fstat(descriptor, &status) != 0) return Unreadable(path);
  QTX_RETURN_IF_ERROR(CheckReadable(path, status, limit));
  if (S_ISCHR(status.st_mode)) limit = std::min(limit, kMaxDeviceBytes);
  std::string bytes;
  try {
    bytes.reserve(static_cast<std::size_t>(status.st_size));
  } catch (const std::bad_alloc&) {
    return NoMemoryFor(status.st_size, path);
  }
  const auto buffer = std::make_unique<char[]>(kHead);
  for (;;) {
    const ssize_t count = read(descriptor, buffer.get(), kHead);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) {
      const bool has_writer = descriptor == STDIN_FILENO || S_ISFIFO(status.st_mode);
      if (Await(descriptor, has_writer ? -1 : kWait)) continue;
      return Error{ErrorCode::kUnreadable, path, "gave no bytes for 2 seconds, expected a file"};
    }
    if (count < 0) return Unreadable(path);
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

// The files that are mapped, as many as there is space for. A signal handler has no arguments and
// may not lock, hence a global of atomics.
struct MappedFile {
  std::atomic<const char*> begin = nullptr;  // nullptr: no file
  std::atomic<std::size_t> size = 0;
  std::string name;
};
std::array<MappedFile, 64> mapped_files;
std::mutex mapping;  // locked by who changes mapped_files

void EnterMapped(std::string_view bytes, const std::string& path) {
  const std::scoped_lock lock(mapping);
  for (MappedFile& file : mapped_files) {
    if (file.begin != nullptr) continue;
    file.size = bytes.size();
    file.name = Printable(path, kMaxMessage);
    file.begin = bytes.data();
    return;
  }
}

void RemoveMapped(std::string_view bytes) {
  const std::scoped_lock lock(mapping);
  for (MappedFile& file : mapped_files) {
    if (file.begin == bytes.data()) file.begin = nullptr;
  }
}

}  // namespace

Result<void> ReadRange(const FileRange& range, std::int64_t at, std::span<std::byte> to) {
  const Descriptor source(open(range.path.c_str(), O_RDONLY | O_CLOEXEC));
  if (source.value() < 0) return Unreadable(range.path);
  for (off_t offset = range.offset + at; !to.empty();) {
    const ssize_t count = pread(source.value(), to.data(), to.size(), offset);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Unreadable(range.path);
    if (count == 0) {
      return Error{ErrorCode::kUnreadable, range.path,
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
  const bool fifo = IsFifo(path);
  const Descriptor source(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (source.value() < 0) return Unreadable(path);
  const bool silent = fifo && !Await(source.value(), kWait);
  auto bytes = ReadAll(source.value(), path, limit, check);  // of a writer that is slow, too
  if (!silent || !bytes.has_value() || !bytes->empty()) return bytes;
  return Error{ErrorCode::kUnreadable, path, "found a FIFO without a writer, expected a file"};
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
  if (source.value() < 0) return Unreadable(path);
  const auto size = static_cast<std::size_t>(status.st_size);
  const void* data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, source.value(), 0);
  if (data == MAP_FAILED)
    return errno == ENOMEM ? NoMemoryFor(status.st_size, path) : Unreadable(path);
  bytes.mapped_ = {static_cast<const char*>(data), size};
  EnterMapped(bytes.mapped_, path);
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
  if (!mapped()) return;
  RemoveMapped(mapped_);
  munmap(const_cast<char*>(mapped_.data()), mapped_.size());
}

const char* MappedFileAt(const void* address) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  for (const MappedFile& file : mapped_files) {
    const auto begin = reinterpret_cast<std::uintptr_t>(file.begin.load());
    if (begin != 0 && at - begin < file.size) return file.name.c_str();
  }
  return nullptr;
}

}  // namespace qtx::format
