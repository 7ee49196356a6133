// A child process that answers requests as frames, with deadlines. A misbehaving child cannot block
// or end the caller.
#pragma once

#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "qtx/backend/protocol.h"
#include "qtx/conformance/runner.h"
#include "qtx/format/result.h"

namespace qtx::conformance {

/// A new folder in that for temporary files, removed with all that is in it.
class BackendFolder {
 public:
  BackendFolder() = default;  // none
  BackendFolder(BackendFolder&& other) noexcept;
  BackendFolder& operator=(BackendFolder&&) = delete;
  ~BackendFolder();
  /// None where no folder can be made.
  static BackendFolder Make();

  const std::string& path() const { return path_; }  // empty: none

 private:
  std::string path_;
};

class Process {
 public:
  using Clock = std::chrono::steady_clock;

  struct Options {
    std::int64_t memory_limit = 0;  // bytes of address space; 0: none
    std::int64_t frame_limit = backend::kMaxFrameBytes;
    Sandbox sandbox = Sandbox::kOn;
    std::vector<std::string> readable;
    // The most bytes of a frame that begins with `first`; 0: none does, refused at once.
    std::int64_t (*limit_of)(char first) = [](char) { return backend::kMaxFrameBytes; };
  };

  /// Starts `words` (the program is looked up in PATH) in its own process group, with pipes as
  /// standard streams and, in a sandbox, a temporary folder that goes with it.
  /// Errors: kIo when it cannot be started, kSystem when none can.
  static Result<std::unique_ptr<Process>> Start(const std::vector<std::string>& words,
                                                const Options& options);
  static Result<std::unique_ptr<Process>> Start(const std::vector<std::string>& words) {
    return Start(words, Options());
  }

  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  /// Closes its input, waits briefly for it to exit, then kills the group.
  ~Process();

  /// Sends a frame and waits for one. Reads error output meanwhile, so that the child does not
  /// block on it.
  /// Errors: kTimeout; kIo when the process ended (how, and the last line of its error output);
  /// kProtocol for a length beyond the limit, a truncated frame, malformed or unrequested bytes.
  /// After an error the process cannot be used again.
  Result<std::string> Exchange(std::string_view frame, Clock::duration timeout);
  /// The same of bytes that are a length and a frame.
  Result<std::string> ExchangeBytes(std::string_view bytes, Clock::duration timeout);
  /// The same as Exchange, the length and the frame in two pieces each, with a pause after all but
  /// the last.
  Result<std::string> ExchangeInPieces(std::string_view frame, Clock::duration timeout);

  /// Sends bytes that are no frame, or with none the end of file, and waits for the process to
  /// exit. Its status, and in `output` what it wrote to standard output.  Errors: kTimeout; kIo
  /// when a signal ended it.
  Result<int> AwaitExit(std::string_view bytes, Clock::duration timeout, std::string& output);

  /// Its error output since the last call, the last kMaxErrorOutput bytes of it.
  std::string TakeErrorOutput();

 private:
  enum class Progress { kAgain, kFrame, kEnded };

  Process(pid_t pid, int in, int out, int err, const Options& options, BackendFolder folder);
  Result<std::string> Finish(std::string_view message, Clock::time_point deadline);
  Result<void> SendAll(std::string_view bytes, Clock::time_point deadline);
  Result<void> Begin(std::string_view& unsent);
  Result<Progress> Step(std::string_view& unsent, Clock::time_point deadline);
  Result<void> Send(std::string_view& unsent);
  bool Receive();  // false at end of file
  void ReceiveErrors();
  Result<bool> HasFrame();
  Result<void> CheckLength() const;
  std::string TakeFrame();
  Error Ended();
  std::string WaitForExit(Clock::duration grace);
  void Kill() const;
  std::string ReceivedSoFar() const;
  std::string ErrorTail() const;
  std::string MemoryNote() const;
  std::string SandboxNote() const;

  Options options_;
  BackendFolder folder_;
  pid_t pid_;
  int handle_;          // a pidfd, readable once the process has ended; -1 where there are none
  bool ended_ = false;  // an event has said so
  int in_, out_, err_;  // our ends: its stdin, stdout, stderr; -1 once closed
  std::array<char, std::size_t{1} << 16> chunk_;  // of a read; not on the stack, which may be small
  std::string received_;
  std::optional<std::size_t> header_;  // size of the length prefix, once it is complete
  std::size_t length_ = 0;             // of the frame
  std::string error_output_;           // the last kMaxErrorOutput bytes
  std::optional<int> status_;          // from wait4, once reaped
  std::int64_t resident_ = 0;          // peak bytes, then
};

/// Bytes of error output that are kept.
inline constexpr std::size_t kMaxErrorOutput = std::size_t{1} << 12;

/// `text` followed by `more`, the last kMaxErrorOutput bytes of it.
void AppendErrorOutput(std::string_view more, std::string& text);

}  // namespace qtx::conformance
