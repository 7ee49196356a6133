// AVX2. vpmaddubsw adds pairs of products in saturating 16 bits: the engine packs weights for it so
// that no pair can leave them (pair_limit), and takes words where that would cost more.
#include "engine/simd_kernels.h"
#include "x86/kernels/kernels.h"
#include "x86/kernels/vector256.h"

namespace qtx::backend::engine {
namespace {

struct ByteDot {
  using A = std::uint8_t;
  using W = std::int8_t;
  using Vector = __m256i;
  static constexpr int kGroup = 4;
  static constexpr std::int32_t kPairLimit = 32767;
  static Vector Load(const W* p) { return Vector256::Load(p); }
  static __m256i Spread(const A* p) { return Spread256(p); }
  static __m256i LoadValues(const A* p) { return Vector256::Load(p); }
  static __m256i Multiply(__m256i sum, __m256i a, Vector b) {
    const __m256i pairs = _mm256_maddubs_epi16(a, b);
    return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
  }
};

}  // namespace

const Kernels& Avx2Kernels() {
  // 12 sums of the 16 registers; the other four hold a row's group, two panels, and ones.
  static constexpr Kernels kKernels = simd::MakeKernels<Vector256, ByteDot>(
      "avx2", simd::MakeProducts<Vector256, ByteDot, 8, 6, 4, 0>(),
      simd::MakeProducts<Vector256, WordDot256, 8, 6, 0, 0>());
  return kKernels;
}

}  // namespace qtx::backend::engine
