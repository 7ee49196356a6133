// Starting the process of a backend, and the words of its command.
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <utility>

#include "live_groups.h"
#include "process.h"
#include "qtx/conformance/runner.h"

namespace qtx::conformance {
namespace {

// Pipes that are closed automatically if starting the process fails.
struct Pipe {
  int read = -1;
  int write = -1;
  Pipe() = default;
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    if (read >= 0) close(read);
    if (write >= 0) close(write);
  }
  // O_CLOEXEC: other children, started by other threads, must not keep these pipes open.
  bool Open() {
    std::array<int, 2> ends = {-1, -1};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) return false;
    read = ends[0];
    write = ends[1];
    return true;
  }
};

void SetNonBlocking(int fd) { fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK); }

// The attributes of posix_spawn: a process group of its own, and signals as a shell would set them.
class SpawnAttributes {
 public:
  SpawnAttributes() {
    posix_spawnattr_init(&attributes_);
    sigset_t signals;
    sigemptyset(&signals);
    posix_spawnattr_setsigmask(&attributes_, &signals);
    for (const int ignored : {SIGPIPE, SIGXFSZ}) sigaddset(&signals, ignored);
    posix_spawnattr_setsigdefault(&attributes_, &signals);
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  }
  SpawnAttributes(const SpawnAttributes&) = delete;
  SpawnAttributes& operator=(const SpawnAttributes&) = delete;
  ~SpawnAttributes() { posix_spawnattr_destroy(&attributes_); }
  const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_;
};

int Spawn(const std::vector<std::string>& words, const Pipe& in, const Pipe& out, const Pipe& err,
          pid_t* pid) {
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const SpawnAttributes attributes;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.read, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out.write, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err.write, STDERR_FILENO);
  const int status =
      posix_spawnp(pid, arguments[0], &actions, attributes.get(), arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  return status;
}

// posix_spawn cannot set limits; this runs before the first request is sent.
void LimitMemory(pid_t pid, std::int64_t bytes) {
  if (bytes <= 0) return;
  const rlimit limit{static_cast<rlim_t>(bytes), static_cast<rlim_t>(bytes)};
  prlimit(pid, RLIMIT_AS, &limit, nullptr);
}

Error CannotStart(const std::string& program, const char* step, int error) {
  const bool shortage = error == EAGAIN || error == EMFILE || error == ENFILE || error == ENOMEM;
  return {shortage ? ErrorCode::kSystem : ErrorCode::kIo, program,
          std::string(step) + ": " + strerror(error)};
}

}  // namespace

Result<std::vector<std::string>> SplitCommand(std::string_view command) {
  std::vector<std::string> words;
  bool open = false;  // inside a word
  char quote = 0;
  for (std::size_t i = 0; i < command.size(); ++i) {
    const char c = command[i];
    if (quote == 0 && (c == ' ' || c == '\t' || c == '\n')) {
      open = false;
      continue;
    }
    if (!std::exchange(open, true)) words.emplace_back();
    if (c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
    } else if (c == '\\' && quote != '\'' && i + 1 < command.size()) {
      words.back().push_back(command[++i]);
    } else {
      words.back().push_back(c);
    }
  }
  if (quote != 0) return Error{ErrorCode::kInvalid, "command", "found a quote that is not closed"};
  if (words.empty() || words[0].empty()) {
    return Error{ErrorCode::kInvalid, "command", "found nothing, expected a program"};
  }
  return words;
}

Result<std::unique_ptr<Process>> Process::Start(const std::vector<std::string>& words,
                                                const Options& options) {
  // Ignores SIGPIPE, so that writing to an ended process is an error of write().
  static std::once_flag once;
  std::call_once(once, [] { signal(SIGPIPE, SIG_IGN); });
  Pipe in, out, err;
  if (!in.Open() || !out.Open() || !err.Open()) {
    return CannotStart(words[0], "cannot make a pipe", errno);
  }
  const Starting until_registered;
  pid_t pid = -1;
  if (const int status = Spawn(words, in, out, err, &pid); status != 0) {
    return CannotStart(words[0], "cannot start", status);
  }
  LimitMemory(pid, options.memory_limit);
  for (const int fd : {in.write, out.read, err.read}) SetNonBlocking(fd);
  return std::unique_ptr<Process>(new Process(pid, std::exchange(in.write, -1),
                                              std::exchange(out.read, -1),
                                              std::exchange(err.read, -1), options));
}

}  // namespace qtx::conformance
