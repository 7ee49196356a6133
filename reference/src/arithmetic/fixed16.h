// Logistic and tanh of 16-bit fixed-point numbers, as gemmlowp iterates them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace qtx::reference {

/// Clamped to the range of 16 bits.
inline std::int64_t Saturated16(std::int64_t value) {
  using Limits = std::numeric_limits<std::int16_t>;
  return std::clamp<std::int64_t>(value, Limits::min(), Limits::max());
}

/// 1 / (1 + exp(-x)) in units of 2^-15, of x in units of 2^-12.  Source: tflite.S19.
std::int16_t Logistic16(std::int16_t x);

/// tanh(x) in units of 2^-15, of x in units of 2^(integer_bits - 15).  Source: tflite.S19.
/// REQUIRES: 0 <= integer_bits <= 6.
std::int16_t Tanh16(std::int16_t x, int integer_bits);

}  // namespace qtx::reference
