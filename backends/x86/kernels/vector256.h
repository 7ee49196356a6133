// 256-bit vectors, for the files compiled with AVX2 or more.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "engine/simd_kernels.h"

namespace {  // each file's own: see engine/simd_kernels.h

struct Vector256 {
  using Byte = std::uint8_t;
  using I32 = __m256i;
  using F32 = __m256;
  static constexpr int kLanes = 8;

  static I32 Load(const void* p) { return _mm256_loadu_si256(static_cast<const I32*>(p)); }
  static void Store(void* p, I32 v) { _mm256_storeu_si256(static_cast<I32*>(p), v); }
  static I32 Set(std::int32_t x) { return _mm256_set1_epi32(x); }
  static I32 AddI(I32 a, I32 b) { return _mm256_add_epi32(a, b); }
  static F32 SetF(float x) { return _mm256_set1_ps(x); }
  static F32 LoadF(const float* p) { return _mm256_loadu_ps(p); }
  static F32 ToFloat(I32 v) { return _mm256_cvtepi32_ps(v); }
  static I32 Nearest(F32 v) { return _mm256_cvtps_epi32(v); }
  static F32 MulF(F32 a, F32 b) { return _mm256_mul_ps(a, b); }
  static F32 MinF(F32 a, F32 b) { return _mm256_min_ps(a, b); }
  static F32 MulAddF(F32 a, F32 b, F32 c) { return _mm256_fmadd_ps(a, b, c); }
  static __m256d WidenD(const float* p) { return _mm256_cvtps_pd(_mm_loadu_ps(p)); }
  static __m256d WidenD(const std::int8_t* p) {
    std::int32_t bits = 0;
    std::memcpy(&bits, p, sizeof(bits));
    return _mm256_cvtepi32_pd(_mm_cvtepi8_epi32(_mm_cvtsi32_si128(bits)));
  }
  static __m128 NarrowD(__m256d v) { return _mm256_cvtpd_ps(v); }
  static __m256d AddProductD(__m256d sum, double factor, __m256d values) {
    return _mm256_fmadd_pd(_mm256_set1_pd(factor), values, sum);
  }
  static __m256d MulAddD(__m256d a, __m256d b, __m256d c) { return _mm256_fmadd_pd(a, b, c); }
  static F32 Fraction(F32 v, I32 nearest) { return _mm256_sub_ps(v, _mm256_cvtepi32_ps(nearest)); }
  static F32 AbsF(F32 a) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0F), a); }
  static F32 MaxAbsF(F32 a, F32 b) { return _mm256_max_ps(a, AbsF(b)); }
  static unsigned AtLeast(F32 a, F32 b) {
    return static_cast<unsigned>(_mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_GE_OQ)));
  }
  static void StoreNarrowed(std::uint8_t* p, const I32 (&v)[4],
                            qtx::backend::engine::Narrowing narrowing, std::int64_t n) {
    const I32 offset = _mm256_set1_epi16(narrowing.offset);
    const I32 low = _mm256_adds_epi16(_mm256_packs_epi32(v[0], v[1]), offset);
    const I32 high = _mm256_adds_epi16(_mm256_packs_epi32(v[2], v[3]), offset);
    // Packing works within halves: four bytes of each vector's low half, then of its high half.
    const I32 packed = _mm256_permutevar8x32_epi32(_mm256_packus_epi16(low, high),
                                                   _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    const I32 least = _mm256_set1_epi8(static_cast<char>(narrowing.low));
    const I32 most = _mm256_set1_epi8(static_cast<char>(narrowing.high));
    const I32 bytes = _mm256_min_epu8(_mm256_max_epu8(packed, least), most);
    if (n == 4 * kLanes) return Store(p, bytes);
    std::uint8_t all[4 * kLanes];
    Store(all, bytes);
    qtx::backend::engine::simd::StorePart<Vector256, 4 * kLanes>(p, all, n);
  }
  static I32 LoadBytes(const std::uint8_t* p) {
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
  }
};

inline __m256i Spread256(const void* group) {
  std::int32_t bits = 0;
  std::memcpy(&bits, group, sizeof(bits));
  return _mm256_set1_epi32(bits);
}

// Pairs of int16 by vpmaddwd: 32-bit sums, nothing saturates.
struct WordDot256 {
  using A = std::int16_t;
  using W = std::int16_t;
  using Vector = __m256i;
  static constexpr int kGroup = 2;
  static constexpr std::int32_t kPairLimit = 0;
  static Vector Load(const W* p) { return Vector256::Load(p); }
  static __m256i Spread(const A* p) { return Spread256(p); }
  static __m256i Multiply(__m256i sum, __m256i a, Vector b) {
    return _mm256_add_epi32(sum, _mm256_madd_epi16(a, b));
  }
};

}  // namespace
