// Elapsed time on a monotonic clock.
#pragma once

#include <chrono>

namespace qtx::bench {

using Clock = std::chrono::steady_clock;

inline double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace qtx::bench
