#include "dot.h"

#include <algorithm>

namespace qtx::reference {
namespace {

// 255 * 255 * 2^15 = 2130739200 < 2^31: a chunk of this length cannot overflow 32 bits.
constexpr std::size_t kChunk = std::size_t{1} << 15;

std::int32_t ChunkDot(const std::int16_t* a, const std::int16_t* b, std::size_t count) {
  std::int32_t sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    sum += static_cast<std::int32_t>(a[i]) * static_cast<std::int32_t>(b[i]);
  }
  return sum;
}

}  // namespace

std::int64_t Dot(const std::int16_t* a, const std::int16_t* b, std::size_t count) {
  std::int64_t sum = 0;
  for (std::size_t start = 0; start < count; start += kChunk) {
    sum += ChunkDot(a + start, b + start, std::min(kChunk, count - start));
  }
  return sum;
}

std::int64_t Dot(const std::int32_t* a, const std::int32_t* b, std::size_t count) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += static_cast<std::int64_t>(a[i]) * b[i];
  return sum;
}

}  // namespace qtx::reference
