// Armv8.6-A with int8 matrix multiplication: SMMLA multiplies two rows of eight by two columns.
#include "arm/kernels/dotprod.h"
#include "arm/kernels/kernels.h"

namespace qtx::backend::engine {
namespace {

constexpr int kLanes = 4;  // columns of a panel: two pairs
constexpr int kGroup = 8;

using ByteTile = Tile<std::uint8_t, std::int8_t>;

// Eight elements of two rows.
inline int8x16_t LoadRows(const std::uint8_t* first, const std::uint8_t* second) {
  return vreinterpretq_s8_u8(vcombine_u8(vld1_u8(first), vld1_u8(second)));
}

// Sums of a pair of rows by a pair of columns lie in one register, row by row. An odd last row is
// its own partner.
template <int kRows, int kVectors>
void RunTile(const ByteTile& t) {
  constexpr int kPairs = (kRows + 1) / 2;
  constexpr int kColumnPairs = 2 * kVectors;
  int32x4_t sums[std::size_t{kPairs}][std::size_t{kColumnPairs}];
  const std::uint8_t* rows[std::size_t{2 * kPairs}];
#pragma GCC unroll 8
  for (int r = 0; r < 2 * kPairs; ++r) rows[r] = t.rows[r < kRows ? r : kRows - 1];
#pragma GCC unroll 4
  for (int p = 0; p < kPairs; ++p) {
#pragma GCC unroll 8
    for (int q = 0; q < kColumnPairs; ++q) {
      const std::int32_t* first = t.initial + 2 * p * t.initial_stride + 2 * q;
      const std::int64_t second = 2 * p + 1 < kRows ? t.initial_stride : 0;
      sums[p][q] = vcombine_s32(vld1_s32(first), vld1_s32(first + second));
    }
  }
  const std::int8_t* panel = t.panels;
  for (const Segment* s = t.segments; s != t.segments + t.segment_count; ++s) {
    const std::int64_t end = s->offset + std::int64_t{s->groups} * kGroup;
    for (std::int64_t k = s->offset; k < end; k += kGroup, panel += kLanes * kGroup) {
      int8x16_t columns[std::size_t{kColumnPairs}];
#pragma GCC unroll 8
      for (int q = 0; q < kColumnPairs; ++q) {
        columns[q] = vld1q_s8(panel + q / 2 * t.panel_stride + q % 2 * 16);
      }
#pragma GCC unroll 4
      for (int p = 0; p < kPairs; ++p) {
        const int8x16_t pair = LoadRows(rows[2 * p] + k, rows[2 * p + 1] + k);
#pragma GCC unroll 8
        for (int q = 0; q < kColumnPairs; ++q)
          sums[p][q] = vmmlaq_s32(sums[p][q], pair, columns[q]);
      }
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int q = 0; q < kColumnPairs; ++q) {
      const int32x4_t pair = sums[r / 2][q];
      vst1_s32(t.sums + r * t.stride + 2 * q,
               r % 2 == 0 ? vget_low_s32(pair) : vget_high_s32(pair));
    }
  }
}

template <int kVectors, int kRows>
constexpr void SetTiles(ProductKernels<std::uint8_t, std::int8_t>& kernels) {
  if constexpr (kRows > 0) {
    kernels.tile[kVectors - 1][kRows - 1] = RunTile<kRows, kVectors>;
    SetTiles<kVectors, kRows - 1>(kernels);
  }
}

// 24 registers of sums, 6 of columns, 1 of rows.
constexpr ProductKernels<std::uint8_t, std::int8_t> MakeByteProducts() {
  ProductKernels<std::uint8_t, std::int8_t> kernels;
  kernels.group = kGroup;
  kernels.lanes = kLanes;
  kernels.vectors = 3;
  SetTiles<1, 8>(kernels);
  SetTiles<2, 8>(kernels);
  SetTiles<3, 8>(kernels);
  return kernels;
}

}  // namespace

const Kernels& I8mmKernels() {
  static constexpr Kernels kKernels = simd::MakeKernels<Vector128, ByteDot128>(
      "i8mm", MakeByteProducts(), simd::MakeProducts<Vector128, WordDot128, 8, 8, 6, 4>());
  return kKernels;
}

}  // namespace qtx::backend::engine
