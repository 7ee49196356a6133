// Other processors: no multiply-add loops, and reads in plain C++.
#if !defined(__x86_64__) && !defined(__aarch64__)

#include <cstdint>
#include <cstring>

#include "loops.h"

namespace qtx::bench {

std::span<const PeakLoop> PeakLoops() { return {}; }

void ReadAll(const std::byte* data, std::size_t bytes) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < bytes; i += sizeof(sum)) {
    std::uint64_t word = 0;
    std::memcpy(&word, data + i, sizeof(word));
    sum += word;
  }
  asm volatile("" : : "r"(sum));
}

}  // namespace qtx::bench

#endif
