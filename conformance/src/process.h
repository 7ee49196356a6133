// A child process that answers frames: started, spoken to with a deadline, and stopped. Whatever it
// does, the caller goes on.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "qtx/format/result.h"

namespace qtx::conformance {

/// Words of a command line: blanks separate, '...' and "..." group, \ takes the next character.
/// Errors: kInvalid for no word at all, or an open quote.
Result<std::vector<std::string>> SplitCommand(std::string_view command);

class Process {
 public:
  using Clock = std::chrono::steady_clock;

  /// Starts `words` (the program is looked up in PATH) in a process group of its own, its standard
  /// streams as pipes.  Errors: kIo when it cannot be started.
  static Result<std::unique_ptr<Process>> Start(const std::vector<std::string>& words);

  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  /// Closes its input, allows it a moment to leave, then kills the group.
  ~Process();

  /// Sends one frame and waits for one. The process's error output is read meanwhile, so that it
  /// cannot block on it.
  /// Errors: kTimeout; kIo when the process ended (how, and the tail of its error output);
  /// kProtocol for a length beyond the limit, a frame cut short, or bytes that nobody asked for.
  /// After an error the process is of no further use.
  Result<std::string> Exchange(std::string_view frame, Clock::duration timeout);

 private:
  enum class Progress { kAgain, kFrame, kEnded };

  Process(pid_t pid, int in, int out, int err);
  Result<Progress> Step(std::string_view& unsent, Clock::time_point deadline);
  Result<void> Send(std::string_view& unsent);
  bool Receive();  // false at end of file
  void ReceiveErrors();
  Result<bool> HasFrame();
  std::string TakeFrame();
  Error Ended();
  std::string WaitForExit(Clock::duration grace);
  void Kill() const;
  std::string ReceivedSoFar() const;
  std::string ErrorTail() const;

  pid_t pid_;
  int in_, out_, err_;  // our ends: its stdin, stdout, stderr; -1 once closed
  std::string received_;
  std::optional<std::size_t> header_;  // bytes of the length before the frame, once it is complete
  std::size_t length_ = 0;             // of the frame
  std::string error_output_;           // the last kErrorTail bytes at least
  std::optional<int> status_;          // of waitpid, once it was collected
};

}  // namespace qtx::conformance
