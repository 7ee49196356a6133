// The process groups of backends that live, which must not outlive this program.
#pragma once

#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <mutex>

namespace qtx::conformance {

// While one lives, this thread starts a process and enters it among the live groups. It blocks
// fatal signals, so that the thread that handles one waits for it.
class Starting {
 public:
  Starting();
  Starting(const Starting&) = delete;
  Starting& operator=(const Starting&) = delete;
  ~Starting();

 private:
  std::scoped_lock<std::mutex> lock_;
  sigset_t before_{};
};

void EnterGroup(pid_t group);
/// Kills a group whose first process has exited, and reaps that process.
bool EndGroup(pid_t group, int& status, rusage& usage);

/// If AdoptOrphans was called and no group lives: kills the children of this process.
void KillOrphans();

}  // namespace qtx::conformance
