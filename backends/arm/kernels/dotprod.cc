// The int8 inner product by SDOT: four products a lane, summed in int32 without saturating.
#include <arm_neon.h>

#include "arm/kernels/kernels.h"
#include "engine/portable_kernels.h"

namespace qtx::backend::engine {
namespace {

constexpr int kRows = 4;  // 4 x 16 sums fill 16 of the 32 registers
constexpr int kColumns = 16;
constexpr int kGroup = 4;

template <int kPanelRows>
void MultiplyPanel(const std::int8_t* a, const std::int8_t* b, std::int64_t groups,
                   std::int32_t* out, std::int64_t stride) {
  int32x4_t sums[std::size_t{kPanelRows}][4];
#pragma GCC unroll 4
  for (int r = 0; r < kPanelRows; ++r) {
    for (auto& sum : sums[r]) sum = vdupq_n_s32(0);
  }
  for (std::int64_t k = 0; k < groups; ++k, a += kPanelRows * kGroup, b += kColumns * kGroup) {
    const int8x16x4_t columns = vld1q_s8_x4(b);
#pragma GCC unroll 4
    for (int r = 0; r < kPanelRows; ++r) {
      const int8x16_t row = vreinterpretq_s8_s32(
          vld1q_dup_s32(reinterpret_cast<const std::int32_t*>(a + r * kGroup)));
#pragma GCC unroll 4
      for (int c = 0; c < 4; ++c) sums[r][c] = vdotq_s32(sums[r][c], columns.val[c], row);
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < kPanelRows; ++r) {
    for (int c = 0; c < 4; ++c) vst1q_s32(out + r * stride + 4 * c, sums[r][c]);
  }
}

void Multiply(const std::int8_t* a, const std::int8_t* b, std::int64_t groups, int rows,
              std::int32_t* out, std::int64_t stride) {
  switch (rows) {
    case 1:
      return MultiplyPanel<1>(a, b, groups, out, stride);
    case 2:
      return MultiplyPanel<2>(a, b, groups, out, stride);
    case 3:
      return MultiplyPanel<3>(a, b, groups, out, stride);
    default:
      return MultiplyPanel<kRows>(a, b, groups, out, stride);
  }
}

// Four rows of 16 to 16 quadruples: the interleaving store does it.
void Interleave(const std::int8_t* const* rows, std::int64_t n, std::int64_t panel_stride,
                std::int8_t* out) {
  for (std::int64_t c = 0; c < n; c += kColumns, out += panel_stride) {
    const int8x16x4_t quadruples{{vld1q_s8(rows[0] + c), vld1q_s8(rows[1] + c),
                                  vld1q_s8(rows[2] + c), vld1q_s8(rows[3] + c)}};
    vst4q_s8(out, quadruples);
  }
}

}  // namespace

const Kernels& DotProductKernels() {
  static const Kernels kKernels = [] {
    Kernels kernels = NeonKernels();
    kernels.name = "dotprod";
    kernels.narrow = {.max_rows = kRows,
                      .columns = kColumns,
                      .group = kGroup,
                      .multiply = Multiply,
                      .interleave = Interleave,
                      .load = PortableLoadNarrow};
    return kernels;
  }();
  return kKernels;
}

}  // namespace qtx::backend::engine
