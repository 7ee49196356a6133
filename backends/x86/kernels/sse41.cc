// SSE4.1, for x86-64 processors without AVX2: as avx2.cc on 128 bits.
#include <smmintrin.h>

#include <cstring>

#include "engine/simd_kernels.h"
#include "x86/kernels/kernels.h"

namespace qtx::backend::engine {
namespace {

struct Vector128 {
  using Byte = std::uint8_t;
  using I32 = __m128i;
  using F32 = __m128;
  static constexpr int kLanes = 4;

  static I32 Load(const void* p) { return _mm_loadu_si128(static_cast<const I32*>(p)); }
  static void Store(void* p, I32 v) { _mm_storeu_si128(static_cast<I32*>(p), v); }
  static I32 Set(std::int32_t x) { return _mm_set1_epi32(x); }
  static I32 AddI(I32 a, I32 b) { return _mm_add_epi32(a, b); }
  static F32 SetF(float x) { return _mm_set1_ps(x); }
  static F32 LoadF(const float* p) { return _mm_loadu_ps(p); }
  static F32 ToFloat(I32 v) { return _mm_cvtepi32_ps(v); }
  static I32 Nearest(F32 v) { return _mm_cvtps_epi32(v); }
  static F32 MulF(F32 a, F32 b) { return _mm_mul_ps(a, b); }
  static F32 MinF(F32 a, F32 b) { return _mm_min_ps(a, b); }
  static F32 MulAddF(F32 a, F32 b, F32 c) { return _mm_add_ps(_mm_mul_ps(a, b), c); }
  static F32 Fraction(F32 v, I32 nearest) { return _mm_sub_ps(v, _mm_cvtepi32_ps(nearest)); }
  static F32 AbsF(F32 a) { return _mm_andnot_ps(_mm_set1_ps(-0.0F), a); }
  static F32 MaxAbsF(F32 a, F32 b) { return _mm_max_ps(a, AbsF(b)); }
  static unsigned AtLeast(F32 a, F32 b) {
    return static_cast<unsigned>(_mm_movemask_ps(_mm_cmpge_ps(a, b)));
  }
  static void StoreNarrowed(std::uint8_t* p, const I32 (&v)[4], Narrowing narrowing,
                            std::int64_t n) {
    const I32 offset = _mm_set1_epi16(narrowing.offset);
    const I32 low = _mm_adds_epi16(_mm_packs_epi32(v[0], v[1]), offset);
    const I32 high = _mm_adds_epi16(_mm_packs_epi32(v[2], v[3]), offset);
    const I32 least = _mm_set1_epi8(static_cast<char>(narrowing.low));
    const I32 most = _mm_set1_epi8(static_cast<char>(narrowing.high));
    const I32 bytes = _mm_min_epu8(_mm_max_epu8(_mm_packus_epi16(low, high), least), most);
    if (n == 4 * kLanes) return Store(p, bytes);
    std::uint8_t all[4 * kLanes];
    Store(all, bytes);
    simd::StorePart<Vector128, 4 * kLanes>(p, all, n);
  }
  static I32 LoadBytes(const std::uint8_t* p) {
    std::int32_t bytes = 0;
    std::memcpy(&bytes, p, sizeof(bytes));
    return _mm_cvtepu8_epi32(_mm_cvtsi32_si128(bytes));
  }
};

inline __m128i Spread128(const void* group) {
  std::int32_t bits = 0;
  std::memcpy(&bits, group, sizeof(bits));
  return _mm_set1_epi32(bits);
}

struct ByteDot {
  using A = std::uint8_t;
  using W = std::int8_t;
  using Vector = __m128i;
  static constexpr int kGroup = 4;
  static constexpr std::int32_t kPairLimit = 32767;
  static Vector Load(const W* p) { return Vector128::Load(p); }
  static __m128i Spread(const A* p) { return Spread128(p); }
  static __m128i LoadValues(const A* p) { return Vector128::Load(p); }
  static __m128i Multiply(__m128i sum, __m128i a, Vector b) {
    const __m128i pairs = _mm_maddubs_epi16(a, b);
    return _mm_add_epi32(sum, _mm_madd_epi16(pairs, _mm_set1_epi16(1)));
  }
};

struct WordDot {
  using A = std::int16_t;
  using W = std::int16_t;
  using Vector = __m128i;
  static constexpr int kGroup = 2;
  static constexpr std::int32_t kPairLimit = 0;
  static Vector Load(const W* p) { return Vector128::Load(p); }
  static __m128i Spread(const A* p) { return Spread128(p); }
  static __m128i Multiply(__m128i sum, __m128i a, Vector b) {
    return _mm_add_epi32(sum, _mm_madd_epi16(a, b));
  }
};

}  // namespace

const Kernels& Sse41Kernels() {
  static constexpr Kernels kKernels = simd::MakeKernels<Vector128, ByteDot>(
      "sse41", simd::MakeProducts<Vector128, ByteDot, 8, 6, 4, 0>(),
      simd::MakeProducts<Vector128, WordDot, 8, 6, 4, 0>());
  return kKernels;
}

}  // namespace qtx::backend::engine
