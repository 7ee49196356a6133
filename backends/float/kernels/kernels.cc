// Compiled once for each target by Highway: foreach_target.h includes this file again.
#include "float/kernels/kernels.h"

#include <vector>

// SSE has no fused multiply-add: what has no AVX2 takes the portable target, lane by lane.
// The number of lanes is a constant, which that of SVE is not.
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "float/kernels/kernels.cc"
#include "hwy/foreach_target.h"
// The order matters: highway.h after foreach_target.h.
#include "hwy/highway.h"

// What follows it is compiled for the target.
#include "float/kernels/elementwise_inl.h"
#include "float/kernels/product_inl.h"

HWY_BEFORE_NAMESPACE();
namespace qtx::backend::floats::HWY_NAMESPACE {

// Sums of a whole tile, a row's vectors and one factor fit the registers: 32 or 16 of them.
inline constexpr int kTileRows = HWY_TARGET == HWY_AVX2 ? 6 : 8;
inline constexpr int kTileVectors = HWY_TARGET == HWY_AVX2 ? 2 : 3;

template <int kFunction>
void SetUnary(Kernels& kernels) {
  if constexpr (kFunction < static_cast<int>(Unary::kCount)) {
    kernels.unary[kFunction] = RunUnary<static_cast<Unary>(kFunction)>;
    SetUnary<kFunction + 1>(kernels);
  }
}

template <int kOperation>
void SetBinary(Kernels& kernels) {
  if constexpr (kOperation < static_cast<int>(Binary::kCount)) {
    kernels.binary[kOperation] = RunBinary<static_cast<Binary>(kOperation)>;
    SetBinary<kOperation + 1>(kernels);
  }
}

template <int kVectors>
void SetWidths(Kernels& kernels) {
  if constexpr (kVectors > 0) {
    SetTiles<kVectors, kTileRows>(kernels);
    SetWidths<kVectors - 1>(kernels);
  }
}

Kernels MakeKernels(std::string_view name) {
  Kernels kernels;
  kernels.name = name;
  kernels.lanes = kLanes;
  kernels.rows = kTileRows;
  kernels.vectors = kTileVectors;
  SetWidths<kTileVectors>(kernels);
  kernels.finish = FinishTile;
  kernels.fill = FillRow;
  kernels.products = Products;
  kernels.maxima = Maxima;
  kernels.means = Means;
  SetUnary<0>(kernels);
  SetBinary<0>(kernels);
  kernels.normalize = Normalize;
  return kernels;
}

}  // namespace qtx::backend::floats::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace qtx::backend::floats {

std::span<const Kernels* const> AvailableKernels() {
#if HWY_ARCH_X86
  // A table is made by code of its target, too: on a processor without it, not at all.
  static const std::vector<const Kernels*> kBestFirst = [] {
    const std::int64_t supported = hwy::SupportedTargets();
    std::vector<const Kernels*> tables;
    if ((supported & HWY_AVX3) != 0) {
      static const Kernels kAvx512 = N_AVX3::MakeKernels("avx512");
      tables.push_back(&kAvx512);
    }
    if ((supported & HWY_AVX2) != 0) {
      static const Kernels kAvx2 = N_AVX2::MakeKernels("avx2");
      tables.push_back(&kAvx2);
    }
    static const Kernels kPortable = HWY_STATIC_DISPATCH(MakeKernels)("portable");
    tables.push_back(&kPortable);
    return tables;
  }();
#else
  static const Kernels kStatic = HWY_STATIC_DISPATCH(MakeKernels)("baseline");
  static const std::vector<const Kernels*> kBestFirst = {&kStatic};
#endif
  return kBestFirst;
}

}  // namespace qtx::backend::floats
#endif
