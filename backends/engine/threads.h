// A small thread pool that runs one parallel loop at a time. Results do not depend on which thread
// runs which index, since every index writes elements of its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "qtx/format/threads.h"

namespace qtx::backend::engine {

class Threads {
 public:
  /// At most `count` threads in all, including the caller's: fewer where the system refuses more.
  explicit Threads(int count);
  ~Threads();
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  int count() const { return static_cast<int>(workers_.size()) + 1; }
  /// Calls task(i) once for each i < n, in any order, and returns when all are done. `nanoseconds`:
  /// the estimated time of all calls in one thread. A short loop runs in the caller's thread alone.
  /// An exception of a task ends the loop and is thrown again.
  void For(std::int64_t n, std::int64_t nanoseconds, const std::function<void(std::int64_t)>& task);
  /// Calls task(first, n) for blocks of at most `block` of `count` elements, some 2^14 elements of
  /// one thread after another.
  void ForBlocks(std::int64_t count, std::int64_t block, std::int64_t nanoseconds,
                 const std::function<void(std::int64_t, std::int64_t)>& task);

 private:
  void Work();
  void TakeIndices();

  std::vector<std::jthread> workers_;
  const std::function<void(std::int64_t)>* task_ = nullptr;
  std::int64_t n_ = 0;
  std::atomic<std::int64_t> next_{0};
  std::atomic<int> running_{0};     // workers that have not finished the present loop
  std::atomic<unsigned> loops_{0};  // begun so far; workers wait for it to change
  std::atomic<bool> stopping_{false};
  format::FirstException failure_;  // of a task of the present loop
};

}  // namespace qtx::backend::engine
