#include "float/workers.h"

#include <algorithm>

namespace qtx::backend::floats {
namespace {

// Below this many multiply-adds, waking another thread takes longer than the work.
constexpr std::int64_t kWorthSharing = 200'000;
// Loops of a model follow each other within microseconds: waking a sleeper takes longer.
constexpr int kSpins = 1 << 12;
// A buffer of another size is reused only if little of it is wasted.
constexpr std::size_t kLargestWaste = 2;

inline void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Returns once value differs from `old`.
template <typename T>
void AwaitChange(const std::atomic<T>& value, T old) {
  for (int i = 0; i < kSpins; ++i) {
    if (value.load() != old) return;
    Pause();
  }
  value.wait(old);
}

}  // namespace

Workers::Workers(int threads) {
  threads_ = format::StartThreads(threads - 1, [this] { Work(); });
}

Workers::~Workers() {
  stopping_ = true;
  loop_ += 2;
  loop_.notify_all();
  threads_.clear();  // joins
}

void Workers::TakeIndices() {
  const bool done = failure_.Guard([this] {
    for (std::int64_t i = next_++; i < n_; i = next_++) (*task_)(i);
  });
  if (!done) next_ = n_;
}

void Workers::Work() {
  unsigned seen = 0;
  while (true) {
    AwaitChange(loop_, seen);
    if (stopping_) return;
    // The worker counts itself first and then looks whether the loop is open. For closes the loop
    // first and then reads the count, so that it waits for this worker.
    ++active_;
    seen = loop_;
    if (seen % 2 == 1) TakeIndices();
    if (--active_ == 0) active_.notify_one();
  }
}

void Workers::For(std::int64_t n, std::int64_t multiply_adds,
                  const std::function<void(std::int64_t)>& task) {
  std::unique_lock lock(mutex_, std::defer_lock);
  const bool shared = !threads_.empty() && n > 1 && multiply_adds >= kWorthSharing;
  if (!shared || !lock.try_lock()) {
    for (std::int64_t i = 0; i < n; ++i) task(i);
    return;
  }
  task_ = &task;
  n_ = n;
  next_ = 0;
  ++loop_;
  loop_.notify_all();
  TakeIndices();
  ++loop_;
  for (int left = active_; left != 0; left = active_) AwaitChange(active_, left);
  failure_.Rethrow();
}

Buffers::Bytes Buffers::Take(std::size_t size) {
  Bytes bytes;
  {
    const std::scoped_lock lock(mutex_);
    const auto found = free_.lower_bound(size);
    if (found != free_.end() && found->first / kLargestWaste <= size) {
      bytes = std::move(found->second);
      kept_ -= found->first;
      free_.erase(found);
    }
  }
  bytes.resize(size);
  const std::scoped_lock lock(mutex_);
  used_ += bytes.capacity();
  most_used_ = std::max(most_used_, used_);
  return bytes;
}

void Buffers::Give(Bytes&& bytes) {
  const std::size_t size = bytes.capacity();
  const std::scoped_lock lock(mutex_);
  used_ -= std::min(used_, size);
  if (size == 0 || kept_ + size > most_used_) return;
  kept_ += size;
  free_.emplace(size, std::move(bytes));
}

void Buffers::Leave(const Bytes& bytes) {
  const std::scoped_lock lock(mutex_);
  used_ -= std::min(used_, bytes.capacity());
}

Result<format::Tensor> Buffers::NewTensor(format::Dims dims) {
  constexpr auto kType = format::ElementType::kFloat;
  QTX_ASSIGN_OR_RETURN(const std::int64_t count, format::ElementCount(dims));
  QTX_ASSIGN_OR_RETURN(const std::int64_t size, format::PackedBytes(kType, count));
  format::Tensor tensor;
  tensor.elem_type = kType;
  tensor.dims = std::move(dims);
  tensor.bytes = Take(static_cast<std::size_t>(size));
  return tensor;
}

}  // namespace qtx::backend::floats
