// Whole files in and out: bounded reads, atomic writes.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "qtx/format/model.h"

namespace qtx::format {
namespace {

Error SystemError(const std::string& path) { return {ErrorCode::kIo, path, std::strerror(errno)}; }

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

Result<void> WriteAll(int descriptor, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return SystemError(path);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

// A device or a pipe: renaming a file over it would take it away.
Result<void> WriteInPlace(const std::string& path, std::string_view bytes) {
  const int descriptor = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) return SystemError(path);
  auto written = WriteAll(descriptor, bytes, path);
  if (close(descriptor) != 0 && written.has_value()) return SystemError(path);
  return written;
}

// Where the bytes of `path` are: a link stays a link.
std::string TargetOf(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> target(realpath(path.c_str(), nullptr),
                                                           &std::free);
  return target == nullptr ? path : target.get();
}

}  // namespace

Result<std::string> ReadFile(const std::string& path, std::int64_t limit) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return SystemError(path);
  if (S_ISDIR(status.st_mode)) {
    return Error{ErrorCode::kIo, path, "found a folder, expected a file"};
  }
  const Error too_large{ErrorCode::kTooLarge, path,
                        "expected at most " + std::to_string(limit) + " bytes"};
  if (status.st_size > limit) return too_large;
  const File file(std::fopen(path.c_str(), "rb"));
  if (file == nullptr) return SystemError(path);
  std::string bytes;
  bytes.reserve(static_cast<std::size_t>(status.st_size));
  char buffer[1 << 16];  // a pipe has no size, so it is read until its end
  while (const std::size_t count = std::fread(buffer, 1, sizeof buffer, file.get())) {
    bytes.append(buffer, count);
    if (static_cast<std::int64_t>(bytes.size()) > limit) return too_large;
  }
  if (std::ferror(file.get()) != 0) return SystemError(path);
  return bytes;
}

Result<void> WriteFileAtomically(const std::string& path, std::string_view bytes) {
  struct stat status {};
  if (stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    if (!S_ISDIR(status.st_mode)) return WriteInPlace(path, bytes);
    return Error{ErrorCode::kIo, path, "found a folder, expected a file"};
  }
  const std::string target = TargetOf(path);
  std::string temporary = target + ".XXXXXX.tmp";
  const int descriptor = mkstemps(temporary.data(), 4);
  if (descriptor < 0) return SystemError(path);
  auto written = WriteAll(descriptor, bytes, path);
  if (written.has_value() && fsync(descriptor) != 0) written = SystemError(path);
  // mkstemps makes files private; a result is as readable as any file the user creates.
  const mode_t mask = umask(0);
  umask(mask);
  const bool closed = fchmod(descriptor, 0666 & ~mask) == 0 && close(descriptor) == 0;
  if (written.has_value() && closed && std::rename(temporary.c_str(), target.c_str()) == 0)
    return {};
  const Error error = written.has_value() ? SystemError(path) : written.error();
  unlink(temporary.c_str());
  return error;
}

}  // namespace qtx::format
