// Armv8.2-A with the dot product instructions.
#include "arm/kernels/dotprod.h"

#include "arm/kernels/kernels.h"

namespace qtx::backend::engine {

const Kernels& DotProductKernels() {
  static constexpr Kernels kKernels = simd::MakeKernels<Vector128, ByteDot128>(
      "dotprod", simd::MakeProducts<Vector128, ByteDot128, 8, 8, 8, 6>(),
      simd::MakeProducts<Vector128, WordDot128, 8, 8, 6, 4>());
  return kKernels;
}

}  // namespace qtx::backend::engine
