// Threads, of which the system may have fewer than asked for.
#pragma once

#include <cstdint>
#include <exception>
#include <iterator>
#include <mutex>
#include <thread>
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

/// Calls work() in at most `count` threads, of which the caller's is one, and waits for all. Throws
/// the first exception of any of them again in the caller's.
template <typename Work>
void InThreads(std::int64_t count, const Work& work) {
  std::mutex mutex;
  std::exception_ptr first;
  const auto guarded = [&] {
    try {
      work();
    } catch (...) {
      const std::scoped_lock lock(mutex);
      if (!first) first = std::current_exception();
    }
  };
  {
    const std::vector<std::jthread> others = StartThreads(count - 1, guarded);
    guarded();
  }
  if (first) std::rethrow_exception(first);
}

}  // namespace qtx::format
