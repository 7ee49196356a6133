// Multipliers of integer arithmetic: a mantissa and a shift, as TFLite's kernels have them.
// Source: spec/arithmetic/tflite.md, S1 to S3 and S12.
#pragma once

#include <cstdint>

#include "engine/kernels.h"

namespace qtx::backend::engine {

/// A real factor as mantissa * 2^(exponent - 31), the mantissa 0 or in [2^30, 2^31).
struct Multiplier {
  std::int32_t mantissa = 0;
  int exponent = 0;
};
/// tflite.S1.  REQUIRES: factor is not negative.
Multiplier MakeMultiplier(double factor);

/// `value` in 32 bits that wrap.
std::int32_t Wrapped32(std::int64_t value);

/// value * factor rounded once, half up: tflite.S2.
std::int64_t MultiplyOnce(std::int32_t value, Multiplier factor);
/// The same with two roundings, half up and half away: tflite.S3. Its left shift saturates.
std::int64_t MultiplyTwice(std::int32_t value, Multiplier factor);
/// The same with 15 bits of the mantissa, of a sum clamped to 48 bits: tflite.S12.
/// REQUIRES: factor.exponent <= kLargestWideExponent.
inline constexpr int kLargestWideExponent = 7;
std::int64_t MultiplyWide(std::int64_t value, Multiplier factor);

/// `value` / `count` to the nearest integer, ties away from zero.
std::int64_t DivideHalfAway(std::int64_t value, std::int64_t count);

}  // namespace qtx::backend::engine
