// Starting the process of a backend, and the words of its command.
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <mutex>
#include <new>
#include <sstream>
#include <system_error>
#include <thread>
#include <utility>

#include "guarded.h"
#include "live_groups.h"
#include "process.h"
#include "qtx/conformance/runner.h"
#include "qtx/conformance/sandbox.h"

namespace qtx::conformance {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMostOfAFile = std::int64_t{1} << 30;  // bytes that a backend may write

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

// The words as execve(2) takes them.
std::vector<char*> Pointers(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// This process's environment, with the folder as that for temporary files; as home, too, if the
// process may not read its user's.
std::vector<std::string> Environment(const BackendFolder& folder, Sandbox sandbox) {
  std::vector<std::string> names;
  if (!folder.path().empty()) names = {"TMPDIR=", "XDG_CACHE_HOME="};
  if (!folder.path().empty() && sandbox == Sandbox::kStrict) names.emplace_back("HOME=");
  const auto replaced = [&](std::string_view variable) {
    return std::ranges::any_of(names, [&](auto& name) { return variable.starts_with(name); });
  };
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (!replaced(*variable)) variables.emplace_back(*variable);
  }
  for (const std::string& name : names) variables.push_back(name + folder.path());
  return variables;
}

int Spawn(const std::vector<std::string>& words, const std::vector<std::string>& environment,
          const Pipe& in, const Pipe& out, const Pipe& err, pid_t* pid) {
  const SpawnAttributes attributes;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.read, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out.write, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err.write, STDERR_FILENO);
  // Files that this process has open, a journal say, are none of the backend's.
  posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
  const int status = posix_spawnp(pid, words[0].c_str(), &actions, attributes.get(),
                                  Pointers(words).data(), Pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  return status;
}

// posix_spawn cannot set limits; this runs before the first request is sent.
void Limit(pid_t pid, __rlimit_resource resource, std::int64_t bytes) {
  if (bytes <= 0) return;
  const rlimit limit{static_cast<rlim_t>(bytes), static_cast<rlim_t>(bytes)};
  prlimit(pid, resource, &limit, nullptr);
}

// A folder; of one of programs, `bin`, all that is beside it, too.
std::string WithLibraries(const fs::path& folder) {
  const bool has_programs = folder.filename() == "bin" && folder.parent_path() != "/";
  return has_programs ? folder.parent_path() : folder;
}

// The folder `name`, or that of the file `name`, as it is named and where links lead.
void AddFolders(const fs::path& name, std::vector<std::string>& folders) {
  std::error_code error;
  const fs::path target = fs::canonical(name, error);
  if (name.empty() || error) return;
  const bool is_folder = fs::is_directory(target, error);
  const fs::path absolute = fs::absolute(is_folder ? name / "." : name, error).lexically_normal();
  folders.push_back(WithLibraries(absolute.parent_path()));
  folders.push_back(WithLibraries(is_folder ? target : target.parent_path()));
}

// What a process that is to read nothing else may read.
std::vector<std::string> ReadableBy(const std::vector<std::string>& words,
                                    const std::vector<std::string>& further) {
  std::vector<std::string> folders = SystemFolders();
  folders.insert(folders.end(), further.begin(), further.end());
  for (const std::string& word : words) {
    AddFolders(word, folders);
    AddFolders(word.substr(word.find('=') + 1), folders);
  }
  for (const char* variable : {"PATH", "PYTHONPATH", "LD_LIBRARY_PATH"}) {
    const char* value = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe)
    std::istringstream list(value != nullptr ? value : "");
    for (std::string entry; std::getline(list, entry, ':');) {
      AddFolders(entry, folders);
    }
  }
  return folders;
}

Permissions PermissionsOf(const std::vector<std::string>& words, const Process::Options& options,
                          const BackendFolder& folder) {
  Permissions permissions;
  permissions.writable = {folder.path(), "/dev/shm"};
  permissions.devices = Devices();
  permissions.programs = true;
  permissions.sockets = options.sandbox != Sandbox::kStrict;
  if (!permissions.sockets) permissions.readable = ReadableBy(words, options.readable);
  return permissions;
}

// Runs `start` on a thread that has given up what the sandbox withholds: what it starts inherits
// that, and this thread loses nothing.
Result<void> Sandboxed(const Permissions& permissions, Sandbox sandbox,
                       const std::function<void()>& start) {
  Result<void> restricted;
  bool lacks_memory = false;
  const auto run = [&] {
    try {
      restricted = Restrict(permissions);
      const bool lacks = !restricted && restricted.error().code == ErrorCode::kUnsupported;
      if (lacks && sandbox == Sandbox::kOn) restricted = {};
      if (restricted.has_value()) start();
    } catch (const std::bad_alloc&) {
      lacks_memory = true;
    }
  };
  try {
    std::thread(run).join();
  } catch (const std::system_error& error) {
    return Error{ErrorCode::kSystem, "", std::string("cannot start a thread: ") + error.what()};
  }
  if (lacks_memory) return Error{ErrorCode::kSystem, "", strerror(ENOMEM)};
  return restricted;
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
  const bool sandboxed = options.sandbox != Sandbox::kOff;
  BackendFolder folder = sandboxed ? BackendFolder::Make() : BackendFolder();
  const Starting until_registered;
  pid_t pid = -1;
  int status = 0;
  const auto spawn = [&] {
    status = Spawn(words, Environment(folder, options.sandbox), in, out, err, &pid);
  };
  if (sandboxed) {
    const Permissions permissions = PermissionsOf(words, options, folder);
    if (auto ran = Sandboxed(permissions, options.sandbox, spawn); !ran) {
      if (ran.error().code == ErrorCode::kUnsupported) ran.error().code = ErrorCode::kIo;
      return At(words[0], std::move(ran).error());
    }
  } else {
    spawn();
  }
  if (status != 0) return CannotStart(words[0], "cannot start", status);
  Limit(pid, RLIMIT_AS, options.memory_limit);
  Limit(pid, RLIMIT_FSIZE, sandboxed ? kMostOfAFile : 0);
  for (const int fd : {in.write, out.read, err.read}) SetNonBlocking(fd);
  return std::unique_ptr<Process>(
      new Process(pid, std::exchange(in.write, -1), std::exchange(out.read, -1),
                  std::exchange(err.read, -1), options, std::move(folder)));
}

BackendFolder BackendFolder::Make() {
  BackendFolder made;
  std::error_code error;
  std::string name = fs::temp_directory_path(error) / "qtx-backend-XXXXXX";
  if (!error && mkdtemp(name.data()) != nullptr) made.path_ = std::move(name);
  return made;
}

BackendFolder::BackendFolder(BackendFolder&& other) noexcept
    : path_(std::exchange(other.path_, std::string())) {}

// Without memory it stays.
BackendFolder::~BackendFolder() {
  Attempt([&] {
    std::error_code error;
    if (!path_.empty()) fs::remove_all(path_, error);
  });
}

}  // namespace qtx::conformance
