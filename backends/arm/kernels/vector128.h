// 128-bit vectors of 64-bit Arm, and words by SMULL: what all its tables share.
#pragma once

#include <arm_neon.h>

#include <cstdint>
#include <cstring>

#include "engine/simd_kernels.h"

namespace {  // each file's own: see engine/simd_kernels.h

struct Vector128 {
  using Byte = std::int8_t;
  using I32 = int32x4_t;
  using F32 = float32x4_t;
  static constexpr int kLanes = 4;

  static I32 Load(const std::int32_t* p) { return vld1q_s32(p); }
  static void Store(std::int32_t* p, I32 v) { vst1q_s32(p, v); }
  static I32 Set(std::int32_t x) { return vdupq_n_s32(x); }
  static I32 AddI(I32 a, I32 b) { return vaddq_s32(a, b); }
  static F32 SetF(float x) { return vdupq_n_f32(x); }
  static F32 LoadF(const float* p) { return vld1q_f32(p); }
  static F32 ToFloat(I32 v) { return vcvtq_f32_s32(v); }
  static I32 Nearest(F32 v) { return vcvtnq_s32_f32(v); }
  static F32 MulF(F32 a, F32 b) { return vmulq_f32(a, b); }
  static F32 MinF(F32 a, F32 b) { return vminq_f32(a, b); }
  static F32 MulAddF(F32 a, F32 b, F32 c) { return vfmaq_f32(c, a, b); }
  static float64x2_t AddProductD(float64x2_t sum, double factor, float64x2_t values) {
    return vfmaq_n_f64(sum, values, factor);
  }
  static F32 Fraction(F32 v, I32 nearest) { return vsubq_f32(v, vcvtq_f32_s32(nearest)); }
  static F32 AbsF(F32 a) { return vabsq_f32(a); }
  static F32 MaxAbsF(F32 a, F32 b) { return vmaxq_f32(a, vabsq_f32(b)); }
  static unsigned AtLeast(F32 a, F32 b) {
    constexpr std::uint32_t kBits[] = {1, 2, 4, 8};
    return vaddvq_u32(vandq_u32(vcgeq_f32(a, b), vld1q_u32(kBits)));
  }
  static void StoreNarrowed(std::uint8_t* p, const I32 (&v)[4],
                            qtx::backend::engine::Narrowing narrowing, std::int64_t n) {
    const int16x8_t offset = vdupq_n_s16(narrowing.offset);
    const int16x8_t low = vqaddq_s16(vcombine_s16(vqmovn_s32(v[0]), vqmovn_s32(v[1])), offset);
    const int16x8_t high = vqaddq_s16(vcombine_s16(vqmovn_s32(v[2]), vqmovn_s32(v[3])), offset);
    const int8x16_t packed = vcombine_s8(vqmovn_s16(low), vqmovn_s16(high));
    const int8x16_t least = vdupq_n_s8(static_cast<std::int8_t>(narrowing.low));
    const int8x16_t most = vdupq_n_s8(static_cast<std::int8_t>(narrowing.high));
    const uint8x16_t bytes = vreinterpretq_u8_s8(vminq_s8(vmaxq_s8(packed, least), most));
    if (n == 4 * kLanes) return vst1q_u8(p, bytes);
    std::uint8_t all[4 * kLanes];
    vst1q_u8(all, bytes);
    qtx::backend::engine::simd::StorePart<Vector128, 4 * kLanes>(p, all, n);
  }
  static I32 LoadBytes(const std::uint8_t* p) {
    std::uint32_t bytes = 0;
    std::memcpy(&bytes, p, sizeof(bytes));
    return vmovl_s16(vget_low_s16(vmovl_s8(vreinterpret_s8_u32(vdup_n_u32(bytes)))));
  }
};

inline int32x4_t Spread128(const void* group) {
  std::int32_t bits = 0;
  std::memcpy(&bits, group, sizeof(bits));
  return vdupq_n_s32(bits);
}

// Pairs of int16: eight products of 32 bits, added two by two.
struct WordDot128 {
  using A = std::int16_t;
  using W = std::int16_t;
  using Vector = int16x8_t;
  static constexpr int kGroup = 2;
  static constexpr std::int32_t kPairLimit = 0;
  static Vector Load(const W* p) { return vld1q_s16(p); }
  static int16x8_t Spread(const A* p) { return vreinterpretq_s16_s32(Spread128(p)); }
  static int32x4_t Multiply(int32x4_t sum, int16x8_t a, Vector b) {
    const int32x4_t low = vmull_s16(vget_low_s16(a), vget_low_s16(b));
    return vaddq_s32(sum, vpaddq_s32(low, vmull_high_s16(a, b)));
  }
};

// Four int8 products a lane without an instruction for them: in 16 bits each, then added up.
struct QuadDot128 {
  using A = std::uint8_t;
  using W = std::int8_t;
  using Vector = int8x16_t;
  static constexpr int kGroup = 4;
  static constexpr std::int32_t kPairLimit = 0;
  static Vector Load(const W* p) { return vld1q_s8(p); }
  static int8x16_t Spread(const A* p) { return vreinterpretq_s8_s32(Spread128(p)); }
  static int8x16_t LoadValues(const A* p) { return vreinterpretq_s8_u8(vld1q_u8(p)); }
  static int32x4_t Multiply(int32x4_t sum, int8x16_t a, Vector b) {
    const int32x4_t low = vpaddlq_s16(vmull_s8(vget_low_s8(a), vget_low_s8(b)));
    return vaddq_s32(sum, vpaddq_s32(low, vpaddlq_s16(vmull_high_s8(a, b))));
  }
};

}  // namespace
