// Loops that only multiply and add, or only read memory, to measure peaks. Each processor family
// has its own file.
#pragma once

#include <cstddef>
#include <span>

namespace qtx::bench {

struct PeakLoop {
  const char* name;
  bool floats;
  double operations;        // per iteration; a multiply-add is two
  void (*run)(long count);  // `count` iterations
};
/// The loops that this processor can run; empty for unknown families.
std::span<const PeakLoop> PeakLoops();

/// Reads `bytes`, a multiple of 1024, from 64-byte aligned memory, as fast as this processor can.
void ReadAll(const std::byte* data, std::size_t bytes);

}  // namespace qtx::bench
