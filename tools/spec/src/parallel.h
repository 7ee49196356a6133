// A parallel loop.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "qtx/format/threads.h"
#include "qtx/spec/review.h"

namespace qtx::spec {

/// Calls work(i) for each i below `count`, on `jobs` threads, and reports progress to `options`.
template <typename Work>
void InParallel(std::string_view what, std::size_t count, const ReviewOptions& options, Work work) {
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  std::size_t done = 0;
  const auto run = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      work(i);
      if (!options.progress) continue;
      const std::scoped_lock lock(mutex);
      options.progress(what, ++done, count);
    }
  };
  format::InThreads(std::min<std::int64_t>(options.jobs, static_cast<std::int64_t>(count)), run);
}

}  // namespace qtx::spec
