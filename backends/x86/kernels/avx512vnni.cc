// AVX-512 with VNNI: vpdpbusd and vpdpwssd on 512-bit vectors, exact for all operands.
#include <immintrin.h>

#include <cstring>

#include "engine/simd_kernels.h"
#include "x86/kernels/kernels.h"

namespace qtx::backend::engine {
namespace {

struct Vector512 {
  using Byte = std::uint8_t;
  using I32 = __m512i;
  using F32 = __m512;
  static constexpr int kLanes = 16;

  static I32 Load(const void* p) { return _mm512_loadu_si512(p); }
  static void Store(void* p, I32 v) { _mm512_storeu_si512(p, v); }
  static I32 Set(std::int32_t x) { return _mm512_set1_epi32(x); }
  static I32 AddI(I32 a, I32 b) { return _mm512_add_epi32(a, b); }
  static F32 SetF(float x) { return _mm512_set1_ps(x); }
  static F32 LoadF(const float* p) { return _mm512_loadu_ps(p); }
  static F32 ToFloat(I32 v) { return _mm512_cvtepi32_ps(v); }
  static I32 Nearest(F32 v) { return _mm512_cvtps_epi32(v); }
  static F32 MulF(F32 a, F32 b) { return _mm512_mul_ps(a, b); }
  static F32 MinF(F32 a, F32 b) { return _mm512_min_ps(a, b); }
  static F32 MulAddF(F32 a, F32 b, F32 c) { return _mm512_fmadd_ps(a, b, c); }
  static __m512d WidenD(const float* p) { return _mm512_cvtps_pd(_mm256_loadu_ps(p)); }
  static __m512d WidenD(const std::int8_t* p) {
    return _mm512_cvtepi32_pd(
        _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
  }
  static __m512d MulAddD(__m512d a, __m512d b, __m512d c) { return _mm512_fmadd_pd(a, b, c); }
  static __m256 NarrowD(__m512d v) { return _mm512_cvtpd_ps(v); }
  static __m512d AddProductD(__m512d sum, double factor, __m512d values) {
    return _mm512_fmadd_pd(_mm512_set1_pd(factor), values, sum);
  }
  // v less itself rounded to even.
  static F32 Fraction(F32 v, I32) { return _mm512_reduce_ps(v, _MM_FROUND_TO_NEAREST_INT); }
  static F32 AbsF(F32 a) { return _mm512_abs_ps(a); }
  // The greater magnitude (1011b), its sign cleared.
  static F32 MaxAbsF(F32 a, F32 b) { return _mm512_range_ps(a, b, 11); }
  static unsigned AtLeast(F32 a, F32 b) { return _mm512_cmp_ps_mask(a, b, _CMP_GE_OQ); }
  static void StoreNarrowed(std::uint8_t* p, const I32 (&v)[4], Narrowing narrowing,
                            std::int64_t n) {
    const I32 offset = _mm512_set1_epi16(narrowing.offset);
    const I32 low = _mm512_adds_epi16(_mm512_packs_epi32(v[0], v[1]), offset);
    const I32 high = _mm512_adds_epi16(_mm512_packs_epi32(v[2], v[3]), offset);
    // Packing works within quarters: four bytes of each vector's first quarter, and so on.
    const I32 order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const I32 packed = _mm512_permutexvar_epi32(order, _mm512_packus_epi16(low, high));
    const I32 least = _mm512_set1_epi8(static_cast<char>(narrowing.low));
    const I32 most = _mm512_set1_epi8(static_cast<char>(narrowing.high));
    const I32 bytes = _mm512_min_epu8(_mm512_max_epu8(packed, least), most);
    if (n == 4 * kLanes) return Store(p, bytes);
    if (n % kLanes != 0) return _mm512_mask_storeu_epi8(p, (std::uint64_t{1} << n) - 1, bytes);
    // Whole quarters: cheaper than a masked store.
    auto* to = reinterpret_cast<__m128i*>(p);
    _mm_storeu_si128(to, _mm512_castsi512_si128(bytes));
    if (n > kLanes) _mm_storeu_si128(to + 1, _mm512_extracti32x4_epi32(bytes, 1));
    if (n > 2 * kLanes) _mm_storeu_si128(to + 2, _mm512_extracti32x4_epi32(bytes, 2));
  }
  static I32 LoadBytes(const std::uint8_t* p) {
    return _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
};

inline __m512i Spread512(const void* group) {
  std::int32_t bits = 0;
  std::memcpy(&bits, group, sizeof(bits));
  return _mm512_set1_epi32(bits);
}

struct ByteDot {
  using A = std::uint8_t;
  using W = std::int8_t;
  using Vector = __m512i;
  static constexpr int kGroup = 4;
  static constexpr std::int32_t kPairLimit = 0;
  static Vector Load(const W* p) { return Vector512::Load(p); }
  static __m512i Spread(const A* p) { return Spread512(p); }
  static __m512i LoadValues(const A* p) { return Vector512::Load(p); }
  static __m512i Multiply(__m512i sum, __m512i a, Vector b) {
    return _mm512_dpbusd_epi32(sum, a, b);
  }
};

struct WordDot {
  using A = std::int16_t;
  using W = std::int16_t;
  using Vector = __m512i;
  static constexpr int kGroup = 2;
  static constexpr std::int32_t kPairLimit = 0;
  static Vector Load(const W* p) { return Vector512::Load(p); }
  static __m512i Spread(const A* p) { return Spread512(p); }
  static __m512i Multiply(__m512i sum, __m512i a, Vector b) {
    return _mm512_dpwssd_epi32(sum, a, b);
  }
};

}  // namespace

const Kernels& Avx512VnniKernels() {
  static constexpr Kernels kKernels = simd::MakeKernels<Vector512, ByteDot>(
      "avx512vnni", simd::MakeProducts<Vector512, ByteDot, 8, 8, 8, 6>(),
      simd::MakeProducts<Vector512, WordDot, 8, 8, 8, 6>());
  return kKernels;
}

}  // namespace qtx::backend::engine
