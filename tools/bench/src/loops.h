// Loops that do nothing but multiply and add, or read. Each processor family has them in a file of
// its own.
#pragma once

#include <cstddef>
#include <span>

namespace qtx::bench {

struct PeakLoop {
  const char* name;
  bool floats;
  double operations;        // of one iteration: two a multiply-add
  void (*run)(long count);  // iterations
};
/// Those that this processor can run; none on a family without a file.
std::span<const PeakLoop> PeakLoops();

/// Reads `bytes`, a multiple of 1024, from 64-byte aligned memory, as fast as this processor can.
void ReadAll(const std::byte* data, std::size_t bytes);

}  // namespace qtx::bench
