// The kernels in plain C++. Instruction-set files include this for the parts and tails they do not
// speed up. Everything is in an unnamed namespace on purpose: each file compiles its own copy with
// its own flags, and the linker must never merge a copy built for AVX2 into the portable path.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "engine/kernels.h"

namespace qtx::backend::engine {
namespace {

template <typename T, int kColumns, int kGroup>
[[maybe_unused]] void PortableMultiply(const T* a, const T* b, std::int64_t groups, int rows,
                                       std::int32_t* out, std::int64_t stride) {
  for (int r = 0; r < rows; ++r) {
    std::array<std::int32_t, std::size_t{kColumns}> sums{};
    for (std::int64_t k = 0; k < groups; ++k) {
      const T* left = a + (k * rows + r) * kGroup;
      const T* right = b + k * kColumns * kGroup;
      for (std::size_t c = 0; c < kColumns; ++c) {
        for (std::size_t g = 0; g < kGroup; ++g) sums[c] += left[g] * right[c * kGroup + g];
      }
    }
    std::copy(sums.begin(), sums.end(), out + r * stride);
  }
}

template <typename T, int kColumns, int kGroup>
[[maybe_unused]] void PortableInterleave(const T* const* rows, std::int64_t n,
                                         std::int64_t panel_stride, T* out) {
  for (std::int64_t first = 0; first < n; first += kColumns, out += panel_stride) {
    for (int c = 0; c < kColumns; ++c) {
      for (int g = 0; g < kGroup; ++g) out[c * kGroup + g] = rows[g][first + c];
    }
  }
}

[[maybe_unused]] inline std::int32_t StoredByte(std::uint8_t byte, bool is_signed) {
  return is_signed ? static_cast<std::int8_t>(byte) : byte;
}

[[maybe_unused]] void PortableLoadWide(const std::uint8_t* stored, std::int64_t n, bool is_signed,
                                       std::int32_t offset, std::int16_t* out) {
  // The flip of the top bit turns an int8 into a uint8 128 larger: one loop for both.
  const int flip = is_signed ? 0x80 : 0;
  const int base = offset + flip;
  for (std::int64_t i = 0; i < n; ++i) {
    out[i] = static_cast<std::int16_t>((stored[i] ^ flip) - base);
  }
}

[[maybe_unused]] void PortableLoadNarrow(const std::uint8_t* stored, std::int64_t n, bool is_signed,
                                         std::int32_t /*offset*/, std::int8_t* out) {
  const int flip = is_signed ? 0 : 0x80;
  for (std::int64_t i = 0; i < n; ++i) out[i] = static_cast<std::int8_t>(stored[i] ^ flip);
}

[[maybe_unused]] void PortableDepthwise(const std::int16_t* const* taps,
                                        const std::int16_t* weights, int tap_count, std::int64_t n,
                                        std::int64_t stride, std::int32_t* out) {
  std::fill(out, out + n, 0);
  for (int t = 0; t < tap_count; ++t) {
    const std::int16_t* tap = taps[t];
    for (std::int64_t i = 0; i < n; ++i) out[i] += weights[t] * tap[i * stride];
  }
}

// The last steps both roundings share: clamp, round, report doubt, add the offset.
struct RoundedLane {
  std::uint8_t stored;
  bool doubtful;
};
[[maybe_unused]] inline RoundedLane RoundLane(float v, float low, float high, std::int32_t offset,
                                              float threshold) {
  v = std::min(std::max(v, low), high);
  const float nearest = std::nearbyint(v);
  return {static_cast<std::uint8_t>(static_cast<std::int32_t>(nearest) + offset),
          std::fabs(v - nearest) >= threshold};
}

// Rounds lanes first..n-1 and appends to the `count` doubtful ones already listed.
[[maybe_unused]] std::int64_t RequantizeFrom(std::int64_t first, const std::int32_t* acc,
                                             std::int64_t n, const Rounding& rounding,
                                             std::uint8_t* out, std::int32_t* doubtful,
                                             std::int64_t count) {
  for (std::int64_t i = first; i < n; ++i) {
    const std::int64_t c = i * rounding.step;
    const auto sum = static_cast<float>(acc[i] + rounding.correction[c]);
    const RoundedLane lane = RoundLane(sum * rounding.ratio[c] + rounding.bias[c], rounding.low,
                                       rounding.high, rounding.offset, rounding.threshold[c]);
    out[i] = lane.stored;
    if (lane.doubtful) doubtful[count++] = static_cast<std::int32_t>(i);
  }
  return count;
}

[[maybe_unused]] std::int64_t AddFrom(std::int64_t first, const std::uint8_t* a,
                                      const std::uint8_t* b, std::int64_t n,
                                      const AddRounding& rounding, std::uint8_t* out,
                                      std::int32_t* doubtful, std::int64_t count) {
  for (std::int64_t i = first; i < n; ++i) {
    const std::int32_t left = StoredByte(a[i], rounding.a_signed) - rounding.a_offset;
    const std::int32_t right = StoredByte(b[i], rounding.b_signed) - rounding.b_offset;
    const RoundedLane lane = RoundLane(
        static_cast<float>(left) * rounding.a_ratio + static_cast<float>(right) * rounding.b_ratio,
        rounding.low, rounding.high, rounding.offset, rounding.threshold);
    out[i] = lane.stored;
    if (lane.doubtful) doubtful[count++] = static_cast<std::int32_t>(i);
  }
  return count;
}

}  // namespace
}  // namespace qtx::backend::engine
