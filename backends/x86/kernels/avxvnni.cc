// AVX-VNNI: vpdpbusd on 256-bit vectors, four products a lane in 32 bits, exact for all operands.
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
  static constexpr std::int32_t kPairLimit = 0;
  static Vector Load(const W* p) { return Vector256::Load(p); }
  static __m256i Spread(const A* p) { return Spread256(p); }
  static __m256i LoadValues(const A* p) { return Vector256::Load(p); }
  static __m256i Multiply(__m256i sum, __m256i a, Vector b) {
    return _mm256_dpbusd_avx_epi32(sum, a, b);
  }
};

}  // namespace

const Kernels& AvxVnniKernels() {
  static constexpr Kernels kKernels = simd::MakeKernels<Vector256, ByteDot>(
      "avxvnni", simd::MakeProducts<Vector256, ByteDot, 8, 6, 4, 0>(),
      simd::MakeProducts<Vector256, WordDot256, 8, 6, 4, 0>());
  return kKernels;
}

}  // namespace qtx::backend::engine
