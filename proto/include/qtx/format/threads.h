// Threads, of which the system may have fewer than asked for.
#pragma once

#include <cstdint>
#include <exception>
#include <iterator>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace qtx::format {

/// Starts at most `count` threads that call work(); fewer where the system refuses more.
template <typename Work>
std::vector<std::jthread> StartThreads(std::int64_t count, const Work& work) {
  std::vector<std::jthread> threads;
  try {
    while (std::ssize(threads) < count) threads.emplace_back(work);
  } catch (const std::exception&) {  // system_error or bad_alloc
  }
  return threads;
}

/// The first exception of several threads.
class FirstException {
 public:
  /// Calls work(), and is false if that threw.
  template <typename Work>
  bool Guard(const Work& work) {
    try {
      work();
      return true;
    } catch (...) {
      const std::scoped_lock lock(mutex_);
      if (!first_) first_ = std::current_exception();
      return false;
    }
  }
  /// Throws it again, once.  REQUIRES: no thread is in Guard.
  void Rethrow() {
    if (first_) std::rethrow_exception(std::exchange(first_, nullptr));
  }

 private:
  std::mutex mutex_;
  std::exception_ptr first_;
};

/// Calls work() in at most `count` threads, of which the caller's is one, and waits for all. Throws
/// the first exception of any of them again in the caller's.
template <typename Work>
void InThreads(std::int64_t count, const Work& work) {
  FirstException failure;
  const auto guarded = [&] { failure.Guard(work); };
  {
    const std::vector<std::jthread> others = StartThreads(count - 1, guarded);
    guarded();
  }
  failure.Rethrow();
}

}  // namespace qtx::format
