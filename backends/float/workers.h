// Threads and memory that all runs of a model share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <vector>

#include "engine/threads.h"
#include "qtx/format/result.h"
#include "qtx/format/tensor.h"

namespace qtx::backend::floats {

/// A pool of threads for one run at a time: while it is taken, other runs work alone.
class Workers {
 public:
  explicit Workers(int threads) : threads_(threads) {}

  int count() const { return threads_.count(); }
  /// Calls task(i) once for each i < n, in any order. `multiply_adds`: about as many as all of them
  /// take; so few are not shared out.
  void For(std::int64_t n, std::int64_t multiply_adds,
           const std::function<void(std::int64_t)>& task);

 private:
  std::mutex mutex_;
  engine::Threads threads_;
};

/// Memory that is used again, because fresh pages cost more than what many operators compute.
class Buffers {
 public:
  using Bytes = std::vector<std::byte>;

  /// `size` bytes of any content.
  Bytes Take(std::size_t size);
  void Give(Bytes&& bytes);
  /// What was taken and will not be given back.
  void Leave(const Bytes& bytes);

  /// A FLOAT tensor of any content.  Errors: those of format::MakeTensor.
  Result<format::Tensor> NewTensor(format::Dims dims);

 private:
  std::mutex mutex_;
  std::multimap<std::size_t, Bytes> free_;  // by capacity
  std::size_t kept_ = 0, used_ = 0, most_used_ = 0;
};

/// Floats for the time of a task.
class Scratch {
 public:
  Scratch(Buffers& buffers, std::int64_t count)
      : buffers_(buffers), bytes_(buffers.Take(static_cast<std::size_t>(count) * sizeof(float))) {}
  ~Scratch() { buffers_.Give(std::move(bytes_)); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  float* data() { return reinterpret_cast<float*>(bytes_.data()); }

 private:
  Buffers& buffers_;
  Buffers::Bytes bytes_;
};

}  // namespace qtx::backend::floats
