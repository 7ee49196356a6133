// Products of rows and packed weights, requantized as soon as a tile of sums is complete.
#pragma once

#include <cstdint>
#include <span>

#include "engine/kernels.h"
#include "engine/pack.h"
#include "engine/requantize.h"
#include "engine/threads.h"

namespace qtx::backend::engine {

/// Row i of the left operand begins at base + offsets[i].
template <typename A>
struct Rows {
  const A* base = nullptr;
  std::span<const std::int64_t> offsets;
};

/// Where y[row, column] goes: element first + row * stride + column of `data`, requantized as
/// channel `channel` + column.
struct Target {
  std::byte* data = nullptr;
  std::int64_t first = 0;
  std::int64_t stride = 0;
  std::int64_t channel = 0;
};

/// y = rows x weights. Every element is computed by one thread, in one order.
template <typename A, typename W>
void Multiply(const ProductKernels<A, W>& kernels, const PackedWeights<W>& weights,
              const Rows<A>& rows, const Requantizer& requantizer, const Target& target,
              Threads& threads);

}  // namespace qtx::backend::engine
