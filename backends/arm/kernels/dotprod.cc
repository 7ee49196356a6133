// Armv8.2-A with the dot product instructions.
#include "arm/kernels/dotprod.h"

#include "arm/kernels/kernels.h"

namespace qtx::backend::engine {
namespace {

constexpr int kLanes = 4;
constexpr int kGroup = 4;

using ByteTile = Tile<std::uint8_t, std::int8_t>;

// One group of kGroups of a row by all columns, whose registers follow group by group.
template <int kVectors, int kIndex>
void MultiplyRow(int32x4_t* sums, int8x8_t row, const int8x16_t* columns) {
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    sums[v] = vdotq_lane_s32(sums[v], columns[kIndex * kVectors + v], row, kIndex);
  }
}

// kGroups, 1 or 2, groups of every row from element k on: a row's are loaded together, and SDOT
// picks its own. One instruction a row for what would be two loads and two copies to all lanes.
template <int kRows, int kVectors, int kGroups>
void MultiplyGroups(const ByteTile& t, const std::uint8_t* const* rows, std::int64_t k,
                    const std::int8_t* panel, int32x4_t (*sums)[std::size_t{kVectors}]) {
  int8x16_t columns[std::size_t{kGroups} * std::size_t{kVectors}];
#pragma GCC unroll 2
  for (int g = 0; g < kGroups; ++g) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      columns[g * kVectors + v] = vld1q_s8(panel + v * t.panel_stride + g * kLanes * kGroup);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
    const int8x8_t row = vreinterpret_s8_u8(vld1_u8(rows[r] + k));
    MultiplyRow<kVectors, 0>(sums[r], row, columns);
    if constexpr (kGroups == 2) MultiplyRow<kVectors, 1>(sums[r], row, columns);
  }
}

template <int kRows, int kVectors>
void RunTile(const ByteTile& t) {
  int32x4_t sums[std::size_t{kRows}][std::size_t{kVectors}];
  const std::uint8_t* rows[std::size_t{kRows}];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
    rows[r] = t.rows[r];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      sums[r][v] = vld1q_s32(t.initial + r * t.initial_stride + v * kLanes);
    }
  }
  const std::int8_t* panel = t.panels;
  for (const Segment* s = t.segments; s != t.segments + t.segment_count; ++s) {
    const std::int64_t end = s->offset + std::int64_t{s->groups} * kGroup;
    std::int64_t k = s->offset;
    for (; k + 2 * kGroup <= end; k += 2 * kGroup, panel += 2 * kLanes * kGroup) {
      MultiplyGroups<kRows, kVectors, 2>(t, rows, k, panel, sums);
    }
    if (k == end) continue;
    MultiplyGroups<kRows, kVectors, 1>(t, rows, k, panel, sums);
    panel += kLanes * kGroup;
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) vst1q_s32(t.sums + r * t.stride + v * kLanes, sums[r][v]);
  }
}

template <int kVectors, int kRows>
constexpr void SetTiles(ProductKernels<std::uint8_t, std::int8_t>& kernels) {
  if constexpr (kRows > 0) {
    kernels.tile[kVectors - 1][kRows - 1] = RunTile<kRows, kVectors>;
    SetTiles<kVectors, kRows - 1>(kernels);
  }
}

// 18 registers of sums at most, 6 to 8 of columns, 1 of a row: with more GCC 12 spills.
constexpr ProductKernels<std::uint8_t, std::int8_t> MakeByteProducts() {
  ProductKernels<std::uint8_t, std::int8_t> kernels;
  kernels.group = kGroup;
  kernels.lanes = kLanes;
  kernels.vectors = 4;
  SetTiles<1, 8>(kernels);
  SetTiles<2, 8>(kernels);
  SetTiles<3, 6>(kernels);
  SetTiles<4, 4>(kernels);
  return kernels;
}

}  // namespace

const Kernels& DotProductKernels() {
  static constexpr Kernels kKernels = simd::MakeKernels<Vector128, ByteDot128>(
      "dotprod", MakeByteProducts(), simd::MakeProducts<Vector128, WordDot128, 8, 8, 6, 4>());
  return kKernels;
}

}  // namespace qtx::backend::engine
