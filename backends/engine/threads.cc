#include "engine/threads.h"

#include <algorithm>

namespace qtx::backend::engine {
namespace {

// Loops of one network follow each other within microseconds: waking a sleeper costs more than
// staying awake that long.
constexpr int kSpins = 1 << 14;
// Below this many nanoseconds, waking the other threads takes longer than the work.
constexpr std::int64_t kWorthSharing = 10'000;

inline void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::atomic_signal_fence(std::memory_order_seq_cst);
#endif
}

// Returns once value differs from `old`.
template <typename T>
void AwaitChange(const std::atomic<T>& value, T old) {
  for (int i = 0; i < kSpins; ++i) {
    if (value.load(std::memory_order_acquire) != old) return;
    Pause();
  }
  value.wait(old, std::memory_order_acquire);
}

}  // namespace

Threads::Threads(int count) {
  workers_ = format::StartThreads(count - 1, [this] { Work(); });
}

Threads::~Threads() {
  stopping_ = true;
  ++loops_;
  loops_.notify_all();
  workers_.clear();  // joins
}

void Threads::TakeIndices() {
  const bool done = failure_.Guard([this] {
    for (std::int64_t i = next_++; i < n_; i = next_++) (*task_)(i);
  });
  if (!done) next_ = n_;
}

void Threads::Work() {
  unsigned seen = 0;
  while (true) {
    AwaitChange(loops_, seen);
    ++seen;
    if (stopping_) return;
    TakeIndices();
    if (--running_ == 0) running_.notify_one();
  }
}

void Threads::For(std::int64_t n, std::int64_t nanoseconds,
                  const std::function<void(std::int64_t)>& task) {
  if (workers_.empty() || n < 2 || nanoseconds < kWorthSharing) {
    for (std::int64_t i = 0; i < n; ++i) task(i);
    return;
  }
  task_ = &task;
  n_ = n;
  next_ = 0;
  running_ = static_cast<int>(workers_.size());
  ++loops_;
  loops_.notify_all();
  TakeIndices();
  for (int left = running_; left != 0; left = running_) AwaitChange(running_, left);
  failure_.Rethrow();
}

void Threads::ForBlocks(std::int64_t count, std::int64_t block, std::int64_t nanoseconds,
                        const std::function<void(std::int64_t, std::int64_t)>& task) {
  const std::int64_t piece = std::max<std::int64_t>((1 << 14) / block, 1) * block;
  For((count + piece - 1) / piece, nanoseconds, [&](std::int64_t i) {
    const std::int64_t end = std::min(count, (i + 1) * piece);
    for (std::int64_t first = i * piece; first < end; first += block) {
      task(first, std::min(block, end - first));
    }
  });
}

}  // namespace qtx::backend::engine
