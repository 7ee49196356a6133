// The K-quants of ggml, unpacked to what their formats mean: for 256 weights, integers and the
// factors of their scales and minima.
// Source of the layouts: ggml-org/llama.cpp ggml/src/ggml-common.h, block_q2_K to block_q6_K, and
// dequantize_row_q2_K to _q6_K of ggml-quants.c.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace qtx::reference::testing {

/// real = d * scale[block] * weight - dmin * min[block].
struct SuperBlock {
  float d = 0;
  float dmin = 0;                    // 0 in formats without minima
  std::vector<std::int32_t> weight;  // 256
  std::vector<std::int32_t> scale;   // of each block of 16 or 32
  std::vector<std::int32_t> min;     // empty in formats without minima
};

struct KQuant {
  std::string name;  // "q4_k"
  std::size_t bytes;
  SuperBlock (*unpack)(std::span<const std::uint8_t> bytes);
};
std::span<const KQuant> KQuants();

/// The same reals with scales above 0: a block of negative scale has its weights negated, one of
/// scale 0 weights of 0 and scale 1. quantization.md, the note at S8.
SuperBlock Canonical(SuperBlock block);

}  // namespace qtx::reference::testing
