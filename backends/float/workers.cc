#include "float/workers.h"

#include <algorithm>

namespace qtx::backend::floats {
namespace {

constexpr std::int64_t kMultiplyAddsPerNanosecond = 16;
// Another size is taken only where little of it is wasted.
constexpr std::size_t kLargestWaste = 2;

}  // namespace

void Workers::For(std::int64_t n, std::int64_t multiply_adds,
                  const std::function<void(std::int64_t)>& task) {
  if (const std::unique_lock lock(mutex_, std::try_to_lock); lock.owns_lock()) {
    threads_.For(n, multiply_adds / kMultiplyAddsPerNanosecond, task);
    return;
  }
  for (std::int64_t i = 0; i < n; ++i) task(i);
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
