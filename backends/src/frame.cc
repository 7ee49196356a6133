// Frames on a file descriptor, with a deadline for the whole frame. The peer may be slow, gone or
// hostile, so memory grows only as bytes arrive, whatever the length says.
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstring>
#include <ctime>

#include "qtx/backend/protocol.h"

namespace qtx::backend {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kChunkBytes = std::size_t{1} << 20;
// A pipe that poll() calls writable takes this many bytes without blocking (POSIX).
constexpr std::size_t kAtomicBytes = 4096;
constexpr std::size_t kJoinedBytes = std::size_t{1} << 16;

constexpr unsigned kMaxLengthBytes = 5;  // backend_protocol.S1

Error SystemError(const char* call) {
  return {ErrorCode::kIo, "frame", std::string(call) + ": " + std::strerror(errno)};
}

class Deadline {
 public:
  explicit Deadline(std::int64_t milliseconds)
      : unlimited_(milliseconds < 0),
        end_(Clock::now() + std::chrono::milliseconds(std::max<std::int64_t>(milliseconds, 0))) {}
  bool unlimited() const { return unlimited_; }
  /// Waits until `fd` is ready for `events`.  Errors: kTimeout, kIo.
  Result<void> Wait(int fd, short events) const {
    while (true) {
      pollfd entry{fd, events, 0};
      const int ready = poll(&entry, 1, Remaining());
      if (ready > 0) return {};
      if (ready == 0) return Error{ErrorCode::kTimeout, "frame", "the peer did not answer in time"};
      if (errno != EINTR) return SystemError("poll");
    }
  }

 private:
  int Remaining() const {
    if (unlimited_) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end_ - Clock::now()).count();
    return static_cast<int>(std::clamp<std::int64_t>(left, 0, INT_MAX));
  }
  bool unlimited_;
  Clock::time_point end_;
};

// Blocks SIGPIPE in this thread, and removes the one that a write has raised, so that a write to a
// process that has ended does not kill this one, but reports EPIPE.
class PipeSignalGuard {
 public:
  PipeSignalGuard() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~PipeSignalGuard() {
    const timespec no_wait{};
    if (!was_pending_) sigtimedwait(&pipe_, nullptr, &no_wait);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  PipeSignalGuard(const PipeSignalGuard&) = delete;
  PipeSignalGuard& operator=(const PipeSignalGuard&) = delete;

 private:
  sigset_t pipe_;
  sigset_t before_;
  bool was_pending_ = false;
};

Result<void> WriteAll(int fd, std::string_view bytes, const Deadline& deadline) {
  while (!bytes.empty()) {
    if (!deadline.unlimited()) QTX_RETURN_IF_ERROR(deadline.Wait(fd, POLLOUT));
    const std::size_t size =
        deadline.unlimited() ? bytes.size() : std::min(bytes.size(), kAtomicBytes);
    const ssize_t written = write(fd, bytes.data(), size);
    if (written >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {
      QTX_RETURN_IF_ERROR(deadline.Wait(fd, POLLOUT));
    } else if (errno != EINTR) {
      return SystemError("write");
    }
  }
  return {};
}

// Reads at most `size` bytes to the end of `out`; the count, 0 at end of file.
Result<std::size_t> ReadSome(int fd, std::size_t size, const Deadline& deadline, std::string& out) {
  const std::size_t before = out.size();
  out.resize(before + size);
  // Without a deadline read() itself may wait, which spares a call for each piece.
  bool wait = !deadline.unlimited();
  while (true) {
    if (wait) QTX_RETURN_IF_ERROR(deadline.Wait(fd, POLLIN));
    const ssize_t count = read(fd, out.data() + before, size);
    if (count >= 0) {
      out.resize(before + static_cast<std::size_t>(count));
      return static_cast<std::size_t>(count);
    }
    if (errno != EINTR && errno != EAGAIN) return SystemError("read");
    wait = wait || errno == EAGAIN;
  }
}

Error CutShort(const char* what) {
  return {ErrorCode::kProtocol, "frame", std::string("end of file inside the ") + what};
}

// The length before a frame; nullopt at end of file before its first byte.
Result<std::optional<std::uint64_t>> ReadLength(int fd, const Deadline& deadline) {
  std::uint64_t length = 0;
  for (unsigned shift = 0; shift < 7 * kMaxLengthBytes; shift += 7) {
    std::string byte;
    QTX_ASSIGN_OR_RETURN(const std::size_t count, ReadSome(fd, 1, deadline, byte));
    if (count == 0 && shift == 0) return std::optional<std::uint64_t>();
    if (count == 0) return CutShort("length");
    const auto value = static_cast<unsigned char>(byte[0]);
    length |= static_cast<std::uint64_t>(value & 0x7FU) << shift;
    if (length > static_cast<std::uint64_t>(kMaxFrameBytes)) {
      return Error{ErrorCode::kProtocol, "frame",
                   "longer than the limit of " + std::to_string(kMaxFrameBytes) + " bytes"};
    }
    if ((value & 0x80U) == 0) return std::optional(length);
  }
  return Error{ErrorCode::kProtocol, "frame",
               "expected a length of at most " + std::to_string(kMaxLengthBytes) + " bytes"};
}

}  // namespace

Result<void> WriteFrame(int fd, std::string_view bytes, std::int64_t deadline_ms) {
  if (bytes.size() > static_cast<std::size_t>(kMaxFrameBytes)) {
    return Error{
        ErrorCode::kTooLarge, "frame",
        std::to_string(bytes.size()) + " bytes, the limit is " + std::to_string(kMaxFrameBytes)};
  }
  std::string length;
  for (std::size_t rest = bytes.size(); length.empty() || rest > 0; rest >>= 7) {
    length.push_back(static_cast<char>((rest & 0x7FU) | (rest > 0x7FU ? 0x80U : 0U)));
  }
  const Deadline deadline(deadline_ms);
  const PipeSignalGuard guard;
  // A frame is written at once, so that the peer wakes up once; a large one is not, since the copy
  // would cost more.
  if (bytes.size() <= kJoinedBytes) return WriteAll(fd, length.append(bytes), deadline);
  QTX_RETURN_IF_ERROR(WriteAll(fd, length, deadline));
  return WriteAll(fd, bytes, deadline);
}

Result<std::optional<std::string>> ReadFrame(int fd, std::int64_t deadline_ms) {
  const Deadline deadline(deadline_ms);
  QTX_ASSIGN_OR_RETURN(const std::optional<std::uint64_t> length, ReadLength(fd, deadline));
  if (!length.has_value()) return std::optional<std::string>();
  std::string bytes;
  while (bytes.size() < *length) {
    const std::size_t size = std::min<std::size_t>(*length - bytes.size(), kChunkBytes);
    QTX_ASSIGN_OR_RETURN(const std::size_t count, ReadSome(fd, size, deadline, bytes));
    if (count == 0) return CutShort("frame");
  }
  return std::optional(std::move(bytes));
}

}  // namespace qtx::backend
