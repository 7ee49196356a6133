// Kernels for NEON. SMLAL multiplies int16 into int32 sums without loss.
#include <arm_neon.h>

#include "arm/kernels/kernels.h"
#include "engine/portable_kernels.h"

namespace qtx::backend::engine {
namespace {

constexpr int kRows = 6;
constexpr int kColumns = 16;  // four registers of sums a row

/// A row of sums and what is added to it: value * b[0..15].
struct RowSums {
  int32x4_t part[4];
  void Clear() {
    for (auto& sum : part) sum = vdupq_n_s32(0);
  }
  void Add(int16x8_t low, int16x8_t high, std::int16_t value) {
    part[0] = vmlal_n_s16(part[0], vget_low_s16(low), value);
    part[1] = vmlal_n_s16(part[1], vget_high_s16(low), value);
    part[2] = vmlal_n_s16(part[2], vget_low_s16(high), value);
    part[3] = vmlal_n_s16(part[3], vget_high_s16(high), value);
  }
  void Store(std::int32_t* out) const {
    for (int i = 0; i < 4; ++i) vst1q_s32(out + 4 * i, part[i]);
  }
};

template <int kPanelRows>
void MultiplyPanel(const std::int16_t* a, const std::int16_t* b, std::int64_t groups,
                   std::int32_t* out, std::int64_t stride) {
  RowSums sums[std::size_t{kPanelRows}];
#pragma GCC unroll 6
  for (int r = 0; r < kPanelRows; ++r) sums[r].Clear();
  for (std::int64_t k = 0; k < groups; ++k, a += kPanelRows, b += kColumns) {
    const int16x8_t low = vld1q_s16(b);
    const int16x8_t high = vld1q_s16(b + 8);
#pragma GCC unroll 6
    for (int r = 0; r < kPanelRows; ++r) sums[r].Add(low, high, a[r]);
  }
#pragma GCC unroll 6
  for (int r = 0; r < kPanelRows; ++r) sums[r].Store(out + r * stride);
}

void Multiply(const std::int16_t* a, const std::int16_t* b, std::int64_t groups, int rows,
              std::int32_t* out, std::int64_t stride) {
  switch (rows) {
    case 1:
      return MultiplyPanel<1>(a, b, groups, out, stride);
    case 2:
      return MultiplyPanel<2>(a, b, groups, out, stride);
    case 3:
      return MultiplyPanel<3>(a, b, groups, out, stride);
    case 4:
      return MultiplyPanel<4>(a, b, groups, out, stride);
    case 5:
      return MultiplyPanel<5>(a, b, groups, out, stride);
    default:
      return MultiplyPanel<kRows>(a, b, groups, out, stride);
  }
}

// Eight outputs: the sums stay in registers over all taps.
void DepthwiseBlock(const std::int16_t* const* taps, const std::int16_t* weights, int tap_count,
                    std::int64_t i, std::int64_t stride, std::int32_t* out) {
  int32x4_t low = vdupq_n_s32(0);
  int32x4_t high = vdupq_n_s32(0);
  for (int t = 0; t < tap_count; ++t) {
    const int16x8_t values =
        stride == 1 ? vld1q_s16(taps[t] + i) : vld2q_s16(taps[t] + 2 * i).val[0];
    low = vmlal_n_s16(low, vget_low_s16(values), weights[t]);
    high = vmlal_n_s16(high, vget_high_s16(values), weights[t]);
  }
  vst1q_s32(out + i, low);
  vst1q_s32(out + i + 4, high);
}

void Depthwise(const std::int16_t* const* taps, const std::int16_t* weights, int tap_count,
               std::int64_t n, std::int64_t stride, std::int32_t* out) {
  std::int64_t i = 0;
  for (; stride <= 2 && i + 8 <= n; i += 8)
    DepthwiseBlock(taps, weights, tap_count, i, stride, out);
  for (; i < n; ++i) {
    std::int32_t sum = 0;
    for (int t = 0; t < tap_count; ++t) sum += weights[t] * taps[t][i * stride];
    out[i] = sum;
  }
}

struct RoundedLanes {
  int32x4_t stored;
  uint32x4_t doubtful;  // all ones where so
};
inline RoundedLanes RoundLanes(float32x4_t v, float low, float high, std::int32_t offset,
                               float32x4_t threshold) {
  v = vminq_f32(vmaxq_f32(v, vdupq_n_f32(low)), vdupq_n_f32(high));
  const float32x4_t nearest = vrndnq_f32(v);  // ties to even
  return {vaddq_s32(vcvtq_s32_f32(nearest), vdupq_n_s32(offset)),
          vcgeq_f32(vabdq_f32(v, nearest), threshold)};
}

// Stores the low bytes of 8 lanes and lists the doubtful ones.
inline std::int64_t Finish(const RoundedLanes& a, const RoundedLanes& b, std::int64_t i,
                           std::uint8_t* out, std::int32_t* doubtful, std::int64_t count) {
  const int16x8_t both = vcombine_s16(vmovn_s32(a.stored), vmovn_s32(b.stored));
  vst1_u8(out + i, vreinterpret_u8_s8(vmovn_s16(both)));
  if (vmaxvq_u32(vorrq_u32(a.doubtful, b.doubtful)) == 0) return count;
  std::uint32_t lanes[8];
  vst1q_u32(lanes, a.doubtful);
  vst1q_u32(lanes + 4, b.doubtful);
  for (int l = 0; l < 8; ++l) {
    if (lanes[l] != 0) doubtful[count++] = static_cast<std::int32_t>(i) + l;
  }
  return count;
}

inline float32x4_t Parameter(const float* p, std::int64_t i, std::int64_t step) {
  return step == 0 ? vdupq_n_f32(*p) : vld1q_f32(p + i);
}

inline RoundedLanes RequantizeFour(const std::int32_t* acc, std::int64_t i,
                                   const Rounding& rounding) {
  const int32x4_t correction =
      rounding.step == 0 ? vdupq_n_s32(*rounding.correction) : vld1q_s32(rounding.correction + i);
  const float32x4_t sum = vcvtq_f32_s32(vaddq_s32(vld1q_s32(acc + i), correction));
  // Two roundings, as the portable kernel has: no fused multiply-add.
  const float32x4_t v = vaddq_f32(vmulq_f32(sum, Parameter(rounding.ratio, i, rounding.step)),
                                  Parameter(rounding.bias, i, rounding.step));
  return RoundLanes(v, rounding.low, rounding.high, rounding.offset,
                    Parameter(rounding.threshold, i, rounding.step));
}

std::int64_t Requantize(const std::int32_t* acc, std::int64_t n, const Rounding& rounding,
                        std::uint8_t* out, std::int32_t* doubtful) {
  std::int64_t count = 0;
  std::int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    count = Finish(RequantizeFour(acc, i, rounding), RequantizeFour(acc, i + 4, rounding), i, out,
                   doubtful, count);
  }
  return RequantizeFrom(i, acc, n, rounding, out, doubtful, count);
}

// Eight stored bytes less their offset, as two float vectors.
inline float32x4x2_t Centred(const std::uint8_t* stored, bool is_signed, std::int32_t offset) {
  const uint8x8_t bytes = vld1_u8(stored);
  const int16x8_t wide =
      is_signed ? vmovl_s8(vreinterpret_s8_u8(bytes)) : vreinterpretq_s16_u16(vmovl_u8(bytes));
  const int16x8_t centred = vsubq_s16(wide, vdupq_n_s16(static_cast<std::int16_t>(offset)));
  return {{vcvtq_f32_s32(vmovl_s16(vget_low_s16(centred))),
           vcvtq_f32_s32(vmovl_s16(vget_high_s16(centred)))}};
}

std::int64_t Add(const std::uint8_t* a, const std::uint8_t* b, std::int64_t n,
                 const AddRounding& rounding, std::uint8_t* out, std::int32_t* doubtful) {
  const float32x4_t threshold = vdupq_n_f32(rounding.threshold);
  std::int64_t count = 0;
  std::int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const float32x4x2_t left = Centred(a + i, rounding.a_signed, rounding.a_offset);
    const float32x4x2_t right = Centred(b + i, rounding.b_signed, rounding.b_offset);
    RoundedLanes lanes[2];
    for (int half = 0; half < 2; ++half) {
      const float32x4_t v = vaddq_f32(vmulq_n_f32(left.val[half], rounding.a_ratio),
                                      vmulq_n_f32(right.val[half], rounding.b_ratio));
      lanes[half] = RoundLanes(v, rounding.low, rounding.high, rounding.offset, threshold);
    }
    count = Finish(lanes[0], lanes[1], i, out, doubtful, count);
  }
  return AddFrom(i, a, b, n, rounding, out, doubtful, count);
}

}  // namespace

const Kernels& NeonKernels() {
  static const Kernels kKernels{
      .name = "neon",
      .wide = {.max_rows = kRows,
               .columns = kColumns,
               .group = 1,
               .multiply = Multiply,
               .interleave = PortableInterleave<std::int16_t, kColumns, 1>,
               .load = PortableLoadWide},
      .narrow = {},
      .depthwise = Depthwise,
      .requantize = Requantize,
      .add = Add};
  return kKernels;
}

}  // namespace qtx::backend::engine
