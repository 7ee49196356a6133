// Armv8-A without extensions: int8 products in 16 bits, where -128 * -128 fits, then pairs of them
// in 32 bits.
#include "arm/kernels/kernels.h"
#include "arm/kernels/vector128.h"

namespace qtx::backend::engine {
namespace {

struct ByteDot {
  using A = std::uint8_t;
  using W = std::int8_t;
  using Vector = int8x8_t;
  static constexpr int kGroup = 2;
  static constexpr std::int32_t kPairLimit = 0;
  static Vector Load(const W* p) { return vld1_s8(p); }
  static int8x8_t Spread(const A* p) {
    std::int16_t bits = 0;
    std::memcpy(&bits, p, sizeof(bits));
    return vreinterpret_s8_s16(vdup_n_s16(bits));
  }
  static int32x4_t Multiply(int32x4_t sum, int8x8_t a, Vector b) {
    return vpadalq_s16(sum, vmull_s8(a, b));
  }
};

}  // namespace

const Kernels& NeonKernels() {
  static constexpr Kernels kKernels = simd::MakeKernels<Vector128, QuadDot128>(
      "neon", simd::MakeProducts<Vector128, ByteDot, 8, 8, 8, 6>(),
      simd::MakeProducts<Vector128, WordDot128, 8, 8, 6, 4>());
  return kKernels;
}

}  // namespace qtx::backend::engine
