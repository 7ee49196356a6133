// Threads and memory that all runs of a model share.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "qtx/format/result.h"
#include "qtx/format/tensor.h"
#include "qtx/format/threads.h"

namespace qtx::backend::floats {

/// A pool of threads for one run at a time: while it is taken, other runs work alone. Unlike
/// engine::Threads it never waits for a worker that has not begun: calibration shares its machine.
class Workers {
 public:
  /// At most `threads` in all, including the caller's: fewer where the system refuses more.
  explicit Workers(int threads);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  int count() const { return static_cast<int>(threads_.size()) + 1; }
  /// Calls task(i) once for each i < n, in any order. `multiply_adds`: about as many as all of them
  /// take; a loop with few runs in the caller's thread alone. An exception of a task ends the loop
  /// and is thrown again.
  void For(std::int64_t n, std::int64_t multiply_adds,
           const std::function<void(std::int64_t)>& task);

 private:
  void Work();
  void TakeIndices();

  std::mutex mutex_;  // locked by the run that uses the pool
  std::vector<std::jthread> threads_;
  const std::function<void(std::int64_t)>* task_ = nullptr;
  std::int64_t n_ = 0;
  std::atomic<std::int64_t> next_{0};
  std::atomic<unsigned> loop_{0};  // odd while a loop is open to workers
  std::atomic<int> active_{0};     // workers that may be in it
  std::atomic<bool> stopping_{false};
  format::FirstException failure_;  // of a task of the present loop
};

/// A pool of memory for reuse, because fresh pages cost more time than many operators.
class Buffers {
 public:
  using Bytes = std::vector<std::byte>;

  /// `size` bytes of any content.
  Bytes Take(std::size_t size);
  void Give(Bytes&& bytes);
  /// Tells the pool that memory taken from it will not be given back.
  void Leave(const Bytes& bytes);

  /// A FLOAT tensor of any content.  Errors: those of format::MakeTensor.
  Result<format::Tensor> NewTensor(format::Dims dims);

 private:
  std::mutex mutex_;
  std::multimap<std::size_t, Bytes> free_;  // by capacity
  std::size_t kept_ = 0, used_ = 0, most_used_ = 0;
};

/// Floats for the time of a task, aligned as the widest vectors are.
class Scratch {
 public:
  Scratch(Buffers& buffers, std::int64_t count)
      : buffers_(buffers),
        bytes_(buffers.Take(static_cast<std::size_t>(count) * sizeof(float) + kAlignment)) {}
  ~Scratch() { buffers_.Give(std::move(bytes_)); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  float* data() {
    const auto address = reinterpret_cast<std::uintptr_t>(bytes_.data());
    return reinterpret_cast<float*>((address + kAlignment - 1) / kAlignment * kAlignment);
  }

 private:
  static constexpr std::size_t kAlignment = 64;

  Buffers& buffers_;
  Buffers::Bytes bytes_;
};

}  // namespace qtx::backend::floats
