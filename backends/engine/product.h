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

/// y = rows x weights. Every element is computed by one thread, in one order. Results: Requantizer,
/// or what converts sums as it does.
template <typename A, typename W, typename Results>
void Multiply(const ProductKernels<A, W>& kernels, const PackedWeights<W>& weights,
              const Rows<A>& rows, const Results& requantizer, const Target& target,
              Threads& threads);

/// FLOAT of tflite.S14: sum * step + bias, each rounded to binary32.
struct RowScaling {
  std::span<const float> steps;  // one a row
  std::int64_t columns = 0;
  const float* bias = nullptr;  // one a column; nullptr: none

  void Convert(const Requantizer::Block& block, std::byte* out) const;
  void Single(std::int64_t acc, std::int64_t channel, std::int64_t element, std::byte* out) const;
};

}  // namespace qtx::backend::engine
