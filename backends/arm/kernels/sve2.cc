// SVE2: SDOT on vectors of any length. Such vectors cannot be elements of an array, so a tile is
// one panel wide and its sums have names; kernels other than products run on 128 bits.
#include <arm_sve.h>

#include "arm/kernels/dotprod.h"
#include "arm/kernels/kernels.h"

namespace qtx::backend::engine {
namespace {

constexpr int kGroup = 4;

inline svint8_t Spread(const std::uint8_t* group) {
  std::int32_t bits = 0;
  std::memcpy(&bits, group, sizeof(bits));
  return svreinterpret_s8_s32(svdup_n_s32(bits));
}

template <int kRows>
void RunTile(const Tile<std::uint8_t, std::int8_t>& t) {
  const svbool_t all = svptrue_b8();
  // Missing rows repeat the last one and are not stored.
  const auto initial = [&](int row) {
    return svld1_s32(all, t.initial + (row < kRows ? row : kRows - 1) * t.initial_stride);
  };
  svint32_t s0 = initial(0);
  svint32_t s1 = initial(1);
  svint32_t s2 = initial(2);
  svint32_t s3 = initial(3);
  svint32_t s4 = initial(4);
  svint32_t s5 = initial(5);
  svint32_t s6 = initial(6);
  svint32_t s7 = initial(7);
  const std::uint8_t* rows[8];
  for (int r = 0; r < 8; ++r) rows[r] = t.rows[r < kRows ? r : kRows - 1];
  const std::int8_t* panel = t.panels;
  const auto step = static_cast<std::int64_t>(svcntb());
  for (const Segment* s = t.segments; s != t.segments + t.segment_count; ++s) {
    const std::int64_t end = s->offset + std::int64_t{s->groups} * kGroup;
    for (std::int64_t k = s->offset; k < end; k += kGroup, panel += step) {
      const svint8_t columns = svld1_s8(all, panel);
      s0 = svdot_s32(s0, columns, Spread(rows[0] + k));
      if constexpr (kRows > 1) s1 = svdot_s32(s1, columns, Spread(rows[1] + k));
      if constexpr (kRows > 2) s2 = svdot_s32(s2, columns, Spread(rows[2] + k));
      if constexpr (kRows > 3) s3 = svdot_s32(s3, columns, Spread(rows[3] + k));
      if constexpr (kRows > 4) s4 = svdot_s32(s4, columns, Spread(rows[4] + k));
      if constexpr (kRows > 5) s5 = svdot_s32(s5, columns, Spread(rows[5] + k));
      if constexpr (kRows > 6) s6 = svdot_s32(s6, columns, Spread(rows[6] + k));
      if constexpr (kRows > 7) s7 = svdot_s32(s7, columns, Spread(rows[7] + k));
    }
  }
  svst1_s32(all, t.sums, s0);
  if constexpr (kRows > 1) svst1_s32(all, t.sums + t.stride, s1);
  if constexpr (kRows > 2) svst1_s32(all, t.sums + 2 * t.stride, s2);
  if constexpr (kRows > 3) svst1_s32(all, t.sums + 3 * t.stride, s3);
  if constexpr (kRows > 4) svst1_s32(all, t.sums + 4 * t.stride, s4);
  if constexpr (kRows > 5) svst1_s32(all, t.sums + 5 * t.stride, s5);
  if constexpr (kRows > 6) svst1_s32(all, t.sums + 6 * t.stride, s6);
  if constexpr (kRows > 7) svst1_s32(all, t.sums + 7 * t.stride, s7);
}

ProductKernels<std::uint8_t, std::int8_t> MakeByteProducts() {
  ProductKernels<std::uint8_t, std::int8_t> kernels;
  kernels.group = kGroup;
  kernels.lanes = static_cast<int>(svcntw());
  kernels.vectors = 1;
  void (*const tiles[])(const Tile<std::uint8_t, std::int8_t>&) = {
      RunTile<1>, RunTile<2>, RunTile<3>, RunTile<4>,
      RunTile<5>, RunTile<6>, RunTile<7>, RunTile<8>};
  for (int r = 0; r < 8; ++r) kernels.tile[0][r] = tiles[r];
  return kernels;
}

}  // namespace

const Kernels& Sve2Kernels() {
  static const Kernels kKernels = simd::MakeKernels<Vector128, ByteDot128>(
      "sve2", MakeByteProducts(), simd::MakeProducts<Vector128, WordDot128, 8, 8, 6, 4>());
  return kKernels;
}

}  // namespace qtx::backend::engine
