#include "live_groups.h"

#include <sys/prctl.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <vector>

#include "qtx/conformance/runner.h"

namespace qtx::conformance {
namespace {

// The live process groups. A signal handler has no arguments and may not lock, hence a global of
// atomics. KillBackendProcesses does not kill processes beyond its size.
std::array<std::atomic<pid_t>, 1024> live_groups;

void Replace(pid_t from, pid_t to) {
  for (std::atomic<pid_t>& slot : live_groups) {
    pid_t expected = from;
    if (slot.compare_exchange_strong(expected, to)) return;
  }
}

// Threads that have started a process but not yet entered it among the groups.
std::atomic<int> starting = 0;

// Held while a process is started or reaped, and while orphans are killed.
std::mutex start_lock;
std::atomic<bool> adopting = false;

std::vector<pid_t> OwnChildren() {
  std::vector<pid_t> found;
  std::error_code error;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task", error)) {
    std::ifstream list(thread.path() / "children");
    for (pid_t child = 0; list >> child;) found.push_back(child);
  }
  return found;
}

}  // namespace

Starting::Starting() : lock_(start_lock) {
  sigset_t ends;
  sigemptyset(&ends);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ends, number);
  pthread_sigmask(SIG_BLOCK, &ends, &before_);
  ++starting;
}

Starting::~Starting() {
  --starting;
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void EnterGroup(pid_t group) { Replace(0, group); }

bool EndGroup(pid_t group, int& status, rusage& usage) {
  const std::scoped_lock lock(start_lock);
  kill(-group, SIGKILL);
  Replace(group, 0);
  return wait4(group, &status, 0, &usage) == group;
}

void KillOrphans() {
  constexpr int kGenerations = 64;  // orphans leave orphans
  if (!adopting) return;
  const std::scoped_lock lock(start_lock);
  const auto live = [](const std::atomic<pid_t>& group) { return group.load() != 0; };
  if (std::ranges::any_of(live_groups, live)) return;
  for (int i = 0; i < kGenerations; ++i) {
    const std::vector<pid_t> orphans = OwnChildren();
    if (orphans.empty()) return;
    for (const pid_t orphan : orphans) {
      kill(orphan, SIGKILL);
      waitpid(orphan, nullptr, 0);
    }
  }
}

void KillBackendProcesses() {
  // They need far less than a second; the limit keeps the handler from hanging.
  const timespec pause = {.tv_sec = 0, .tv_nsec = 1'000'000};
  for (int i = 0; i < 1000 && starting > 0; ++i) nanosleep(&pause, nullptr);
  for (const std::atomic<pid_t>& slot : live_groups) {
    if (const pid_t group = slot.load(); group > 0) kill(-group, SIGKILL);
  }
}

void AdoptOrphans() {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  adopting = true;
}

}  // namespace qtx::conformance
