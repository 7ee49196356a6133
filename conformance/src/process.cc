#include "process.h"

#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include "guarded.h"
#include "live_groups.h"
#include "qtx/backend/protocol.h"
#include "qtx/format/text.h"

namespace qtx::conformance {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kShown = 32;  // bytes of an unfinished answer
constexpr const char* kClosedOutput = "closed its output";
constexpr std::size_t kLastLine = 200;  // bytes of error output that a message repeats
// Grace periods: a process that closed its output is exiting; one told to exit may need to flush.
constexpr Process::Clock::duration kGraceAfterEnd = 2s;
constexpr Process::Clock::duration kGraceAtClose = 500ms;
constexpr Process::Clock::duration kLooking = 100us;

// poll() that spins for a while before it sleeps: most answers take less time than waking up.
template <std::size_t kCount>
int Await(std::array<pollfd, kCount>& events, int wait_ms) {
  const Process::Clock::time_point end = Process::Clock::now() + kLooking;
  do {
    const int ready = poll(events.data(), events.size(), 0);
    if (ready != 0) return ready;
    std::this_thread::yield();
  } while (Process::Clock::now() < end);
  return poll(events.data(), events.size(), wait_ms);
}

void CloseEnd(int& fd) {
  if (fd >= 0) close(std::exchange(fd, -1));
}

std::string Varint(std::size_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<char>((value & 0x7F) | 0x80));
  bytes.push_back(static_cast<char>(value));
  return bytes;
}

Error AnsweredTooSoon() { return {ErrorCode::kProtocol, "", "answered before a request was sent"}; }

std::string DescribeStatus(int status) {
  if (WIFSIGNALED(status)) {
    const char* name = sigabbrev_np(WTERMSIG(status));
    return "was killed by signal " + std::to_string(WTERMSIG(status)) +
           (name != nullptr ? std::string(" (SIG") + name + ")" : "");
  }
  return "exited with status " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

Process::Process(pid_t pid, int in, int out, int err, const Options& options, BackendFolder folder)
    : options_(options),
      folder_(std::move(folder)),
      pid_(pid),
      handle_(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))),
      in_(in),
      out_(out),
      err_(err) {
  EnterGroup(pid_);
}

Process::~Process() {
  CloseEnd(in_);
  Attempt([&] { (void)WaitForExit(kGraceAtClose); });
  CloseEnd(out_);
  CloseEnd(err_);
  CloseEnd(handle_);
  Attempt(KillOrphans);
}

Result<int> Process::AwaitExit(std::string_view bytes, Clock::duration timeout,
                               std::string& output) {
  const Clock::time_point deadline = Clock::now() + timeout;
  std::string_view unsent = bytes;
  if (!unsent.empty()) {
    if (const auto sent = Send(unsent); !sent) return sent.error();
  } else {
    CloseEnd(in_);
  }
  // Its output may outlive it, in a child; it may also end long before the process does.
  for (bool open = true; !ended_ && Clock::now() < deadline;) {
    std::array<pollfd, 3> events = {pollfd{handle_, POLLIN, 0}, pollfd{open ? out_ : -1, POLLIN, 0},
                                    pollfd{err_, POLLIN, 0}};
    (void)poll(events.data(), events.size(), 10);
    if (events[2].revents != 0) ReceiveErrors();
    if (events[1].revents != 0) open = Receive();
    ended_ = events[0].revents != 0 && events[1].revents == 0;
    if (handle_ < 0 && !open) break;
  }
  output = std::exchange(received_, std::string());
  const std::string how = WaitForExit(std::max<Clock::duration>(deadline - Clock::now(), 0ms));
  if (status_ && WIFEXITED(*status_)) return WEXITSTATUS(*status_);
  if (how != kClosedOutput) return Error{ErrorCode::kIo, "", "the process " + how};
  return Error{ErrorCode::kTimeout, "", "the process did not exit in time"};
}

Result<std::string> Process::Exchange(std::string_view frame, Clock::duration timeout) {
  return Finish(Varint(frame.size()).append(frame), Clock::now() + timeout);
}

Result<std::string> Process::ExchangeBytes(std::string_view bytes, Clock::duration timeout) {
  return Finish(bytes, Clock::now() + timeout);
}

Result<std::string> Process::ExchangeInPieces(std::string_view frame, Clock::duration timeout) {
  constexpr auto kPause = std::chrono::milliseconds(20);
  const Clock::time_point deadline = Clock::now() + timeout;
  const std::string length = Varint(frame.size());
  const std::string message = length + std::string(frame);
  std::size_t sent = 0;
  for (const std::size_t end : {std::size_t{1}, length.size(), length.size() + frame.size() / 2}) {
    if (end <= sent || end >= message.size()) continue;
    QTX_RETURN_IF_ERROR(SendAll(std::string_view(message).substr(sent, end - sent), deadline));
    std::this_thread::sleep_for(kPause);
    sent = end;
  }
  return Finish(std::string_view(message).substr(sent), deadline);
}

// Sends the rest of a request, and waits for the answer.
Result<std::string> Process::Finish(std::string_view message, Clock::time_point deadline) {
  std::string_view unsent = message;
  QTX_RETURN_IF_ERROR(Begin(unsent));
  while (true) {
    QTX_ASSIGN_OR_RETURN(const Progress progress, Step(unsent, deadline));
    if (progress == Progress::kEnded) return Ended();
    if (progress == Progress::kAgain) continue;
    if (!unsent.empty()) return AnsweredTooSoon();
    return TakeFrame();
  }
}

// Sends a part of a request.
Result<void> Process::SendAll(std::string_view bytes, Clock::time_point deadline) {
  std::string_view unsent = bytes;
  QTX_RETURN_IF_ERROR(Begin(unsent));
  while (!unsent.empty()) {
    QTX_ASSIGN_OR_RETURN(const Progress progress, Step(unsent, deadline));
    if (progress == Progress::kEnded) return Ended();
    if (progress == Progress::kFrame) return AnsweredTooSoon();
  }
  return {};
}

// Writes what the pipe accepts at once, which for most requests is everything; any output before
// that is unrequested.
Result<void> Process::Begin(std::string_view& unsent) {
  if (!Receive()) return Ended();
  QTX_ASSIGN_OR_RETURN(const bool complete, HasFrame());
  if (complete) {
    Kill();
    return AnsweredTooSoon();
  }
  return Send(unsent);
}

// Waits for one event and handles it.
Result<Process::Progress> Process::Step(std::string_view& unsent, Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
  if (left.count() <= 0) {
    Kill();
    return Error{ErrorCode::kTimeout, "",
                 "gave no answer within the time limit" + ReceivedSoFar() + ErrorTail()};
  }
  std::array<pollfd, 4> events = {pollfd{out_, POLLIN, 0}, pollfd{err_, POLLIN, 0},
                                  pollfd{unsent.empty() ? -1 : in_, POLLOUT, 0},
                                  pollfd{handle_, POLLIN, 0}};
  const auto wait = static_cast<int>(std::min<std::int64_t>(left.count(), 1 << 30));
  if (Await(events, wait) < 0 && errno != EINTR) {
    return Error{ErrorCode::kIo, "", std::string("poll: ") + strerror(errno)};
  }
  if (events[1].revents != 0) ReceiveErrors();
  if (events[0].revents != 0) {
    if (!Receive()) return Progress::kEnded;
    QTX_ASSIGN_OR_RETURN(const bool complete, HasFrame());
    if (complete) return Progress::kFrame;
  } else if (events[3].revents != 0 && std::exchange(ended_, true)) {
    // Nothing has come since the process ended, though a child of it may hold the pipe open.
    return Progress::kEnded;
  }
  if (events[2].revents != 0) QTX_RETURN_IF_ERROR(Send(unsent));
  return Progress::kAgain;
}

Result<void> Process::Send(std::string_view& unsent) {
  const ssize_t sent = write(in_, unsent.data(), unsent.size());
  if (sent >= 0) {
    unsent.remove_prefix(static_cast<std::size_t>(sent));
  } else if (errno != EAGAIN && errno != EINTR) {
    return Ended();
  }
  return {};
}

bool Process::Receive() {
  const ssize_t count = read(out_, chunk_.data(), chunk_.size());
  if (count > 0) received_.append(chunk_.data(), static_cast<std::size_t>(count));
  return count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR));
}

void Process::ReceiveErrors() {
  const ssize_t count = read(err_, chunk_.data(), chunk_.size());
  if (count > 0) {
    AppendErrorOutput({chunk_.data(), static_cast<std::size_t>(count)}, error_output_);
  } else if (count == 0) {
    CloseEnd(err_);
  }
}

// Parses the length as soon as it is complete, before allocating for the frame.
Result<bool> Process::HasFrame() {
  std::uint64_t length = 0;
  for (std::size_t i = 0; !header_ && i < received_.size(); ++i) {
    const auto byte = static_cast<unsigned char>(received_[i]);
    length |= static_cast<std::uint64_t>(byte & 0x7F) << (7 * i);
    if (length > static_cast<std::uint64_t>(backend::kMaxFrameBytes) || i >= 5) {
      Kill();
      return Error{ErrorCode::kProtocol, "",
                   "found a frame longer than " + std::to_string(backend::kMaxFrameBytes) +
                       " bytes, or no length at all" + ReceivedSoFar()};
    }
    if ((byte & 0x80) != 0) continue;
    header_ = i + 1;
    length_ = static_cast<std::size_t>(length);
  }
  if (!header_) return false;
  if (received_.size() > *header_ && length_ > 0) {
    if (auto sound = CheckLength(); !sound.has_value()) {
      Kill();
      return std::move(sound).error();
    }
  }
  if (received_.size() < *header_ + length_) return false;
  if (received_.size() > *header_ + length_) {
    Kill();
    return Error{ErrorCode::kProtocol, "",
                 "found " + std::to_string(received_.size() - *header_ - length_) +
                     " bytes after the answer" + ErrorTail()};
  }
  return true;
}

// The first byte of a frame says what kind it is.
Result<void> Process::CheckLength() const {
  const std::int64_t most = options_.limit_of(received_[*header_]);
  if (most == 0) {
    return Error{ErrorCode::kProtocol, "",
                 "found bytes on its standard output that are not a frame" + ReceivedSoFar()};
  }
  if (static_cast<std::int64_t>(length_) <= std::min(most, options_.frame_limit)) return {};
  return Error{ErrorCode::kProtocol, "",
               "found a frame of " + std::to_string(length_) + " bytes, expected at most " +
                   std::to_string(std::min(most, options_.frame_limit)) +
                   (most > options_.frame_limit ? "; --frame-limit raises it" : "")};
}

// Moves the frame to the front: a copy of it would double its memory.
std::string Process::TakeFrame() {
  std::string frame = std::exchange(received_, std::string());
  frame.erase(0, *header_);
  header_.reset();
  return frame;
}

// The process closed its output. A clean exit inside a frame is a protocol error; otherwise the
// exit status is reported.
Error Process::Ended() {
  const std::string how = WaitForExit(kGraceAfterEnd);
  if (err_ >= 0) ReceiveErrors();
  const bool clean = status_ && WIFEXITED(*status_) && WEXITSTATUS(*status_) == 0;
  if (clean && !received_.empty()) {
    return Error{ErrorCode::kProtocol, "",
                 "cut a frame short and " + how + ReceivedSoFar() + ErrorTail()};
  }
  return Error{
      ErrorCode::kIo, "",
      "the process " + how + " before it answered" + MemoryNote() + SandboxNote() + ErrorTail()};
}

// Reaps the process and kills its group; kills the process if it has not exited after `grace`.
std::string Process::WaitForExit(Clock::duration grace) {
  const Clock::time_point deadline = Clock::now() + grace;
  bool killed = false;
  for (auto pause = 1ms; !status_; pause = std::min(2 * pause, 20ms)) {
    siginfo_t info{};
    // WNOWAIT: until the process is reaped its id cannot be reused, so its group can still be
    // killed safely.
    if (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0) {
      if (errno == EINTR) continue;
      return "is gone";
    }
    if (info.si_pid == pid_) {
      int status = 0;
      rusage usage{};
      if (EndGroup(pid_, status, usage)) status_ = status;
      resident_ = std::int64_t{usage.ru_maxrss} << 10;
    } else if (Clock::now() >= deadline && !std::exchange(killed, true)) {
      Kill();
    } else {
      std::this_thread::sleep_for(pause);
    }
  }
  return killed ? kClosedOutput : DescribeStatus(*status_);
}

void Process::Kill() const {
  if (!status_) kill(-pid_, SIGKILL);
}

// Helps to recognize a backend that prints text to its standard output.
std::string Process::ReceivedSoFar() const {
  if (received_.empty()) return "";
  const std::string beginning = format::Printable(std::string_view(received_).substr(0, kShown));
  return "; " + std::to_string(received_.size()) + " bytes came, beginning '" + beginning + "'";
}

// The last line; all of it is stored separately.
std::string Process::ErrorTail() const {
  std::string_view tail = error_output_;
  while (!tail.empty() && (tail.back() == '\n' || tail.back() == ' ')) tail.remove_suffix(1);
  if (tail.empty()) return "";
  tail.remove_prefix(tail.rfind('\n') + 1);  // npos + 1 is 0
  if (tail.size() > kLastLine) tail.remove_prefix(tail.size() - kLastLine);
  return "; its error output ends: " + std::string(tail);
}

// The system does not record that a process hit its memory limit. Its error output and peak memory
// are taken as evidence.
std::string Process::MemoryNote() const {
  if (options_.memory_limit <= 0) {
    const bool killed = status_ && WIFSIGNALED(*status_) && WTERMSIG(*status_) == SIGKILL;
    return killed ? "; perhaps the system was out of memory" : "";
  }
  const bool said = error_output_.find("alloc") != std::string::npos ||
                    error_output_.find("emory") != std::string::npos;
  const bool held = resident_ > options_.memory_limit / 4 * 3;
  return std::string(said || held ? "; this looks like" : "; it had") + " the memory limit of " +
         std::to_string(options_.memory_limit >> 20) + " MiB";
}

// What the sandbox withholds is an error of a call in the process, which its error output may
// repeat.
std::string Process::SandboxNote() const {
  if (options_.sandbox == Sandbox::kOff ||
      error_output_.find("ermission denied") == std::string::npos) {
    return "";
  }
  return options_.sandbox == Sandbox::kStrict
             ? "; perhaps it needs a file, which --readable gives it, the network or a place to "
               "write"
             : "; perhaps it writes outside of TMPDIR, which --sandbox off permits";
}

std::string Process::TakeErrorOutput() {
  if (err_ >= 0) ReceiveErrors();
  return std::exchange(error_output_, std::string());
}

void AppendErrorOutput(std::string_view more, std::string& text) {
  if (more.size() > kMaxErrorOutput) more.remove_prefix(more.size() - kMaxErrorOutput);
  if (text.size() + more.size() > kMaxErrorOutput) {
    text.erase(0, text.size() + more.size() - kMaxErrorOutput);
  }
  text.append(more);
}

}  // namespace qtx::conformance
