// The vectors that the codes of IQ1 to IQ3 choose among.
#pragma once

#include <cstdint>
#include <span>

namespace qtx::convert::gguf {

/// A vector is a number in digits of `digit_bits` bits, the first value the lowest digit; a digit
/// is an index into `values`. No vector occurs twice.
struct Grid {
  std::span<const std::uint16_t> vectors;
  std::span<const std::int8_t> values;
  int digit_bits = 0;
  int size = 0;  // values of a vector

  int Value(std::size_t vector, int i) const {
    const unsigned digit = static_cast<unsigned>(vectors[vector]) >> (digit_bits * i);
    return values[digit & ((1U << digit_bits) - 1)];
  }
};

/// Source: the tables iq2xxs_grid to iq1s_grid of ggml/src/ggml-common.h, printed by
/// tests/gguf/grids.py from the gguf package 0.19.0.
Grid Iq2XxsGrid();
Grid Iq2XsGrid();
Grid Iq2SGrid();
Grid Iq3XxsGrid();
Grid Iq3SGrid();
Grid Iq1Grid();

}  // namespace qtx::convert::gguf
