// SDOT: four int8 products a lane, summed in int32.
#pragma once

#include "arm/kernels/vector128.h"

namespace {  // each file's own: see engine/simd_kernels.h

struct ByteDot128 {
  using A = std::uint8_t;
  using W = std::int8_t;
  using Vector = int8x16_t;
  static constexpr int kGroup = 4;
  static constexpr std::int32_t kPairLimit = 0;
  static Vector Load(const W* p) { return vld1q_s8(p); }
  static int8x16_t Spread(const A* p) { return vreinterpretq_s8_s32(Spread128(p)); }
  static int8x16_t LoadValues(const A* p) { return vreinterpretq_s8_u8(vld1q_u8(p)); }
  static int32x4_t Multiply(int32x4_t sum, int8x16_t a, Vector b) { return vdotq_s32(sum, a, b); }
};

}  // namespace
