// Kernels for AVX2. vpmaddwd multiplies int16 pairs into int32 without saturating: with operands of
// at most 256 in magnitude nothing is lost, unlike vpmaddubsw, whose 16-bit pair sums clip at 255 *
// 127 + 255 * 127.
#include "x86/kernels/avx2.h"

#include <immintrin.h>

#include <cstring>

#include "engine/portable_kernels.h"

namespace qtx::backend::engine {
namespace {

constexpr int kRows = 6;      // 6 x 16 sums fill 12 of the 16 registers
constexpr int kColumns = 16;  // two registers
constexpr int kGroup = 2;

inline __m256i Load(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
inline void Store(void* p, __m256i v) { _mm256_storeu_si256(static_cast<__m256i*>(p), v); }
inline __m256i BroadcastPair(const std::int16_t* pair) {
  std::int32_t bits = 0;
  std::memcpy(&bits, pair, sizeof(bits));
  return _mm256_set1_epi32(bits);
}

// Both sums of a row. The empty asm pins the order of rows: left alone, GCC 12 hoists every
// broadcast of the loop body and spills sums (86 GOP/s for 130).
inline void MultiplyAdd(__m256i pair, __m256i b_left, __m256i b_right, __m256i& left,
                        __m256i& right) {
  left = _mm256_add_epi32(left, _mm256_madd_epi16(pair, b_left));
  right = _mm256_add_epi32(right, _mm256_madd_epi16(pair, b_right));
  asm volatile("" : "+x"(left), "+x"(right));
}

template <std::size_t kPanelRows>
void MultiplyPanel(const std::int16_t* a, const std::int16_t* b, std::int64_t groups,
                   std::int32_t* out, std::int64_t stride) {
  __m256i left[kPanelRows];
  __m256i right[kPanelRows];
#pragma GCC unroll 6  // all loops over rows, or the sums become an array in memory
  for (std::size_t r = 0; r < kPanelRows; ++r) left[r] = right[r] = _mm256_setzero_si256();
  for (std::int64_t k = 0; k < groups; ++k, a += kPanelRows * kGroup, b += kColumns * kGroup) {
    const __m256i b_left = Load(b);
    const __m256i b_right = Load(b + kColumns);
#pragma GCC unroll 6
    for (std::size_t r = 0; r < kPanelRows; ++r) {
      MultiplyAdd(BroadcastPair(a + r * kGroup), b_left, b_right, left[r], right[r]);
    }
  }
#pragma GCC unroll 6
  for (std::size_t r = 0; r < kPanelRows; ++r, out += stride) {
    Store(out, left[r]);
    Store(out + kColumns / 2, right[r]);
  }
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

// Two rows of 16 to 16 pairs.
void Interleave(const std::int16_t* const* rows, std::int64_t n, std::int64_t panel_stride,
                std::int16_t* out) {
  for (std::int64_t c = 0; c < n; c += kColumns, out += panel_stride) {
    const __m256i first = Load(rows[0] + c);
    const __m256i second = Load(rows[1] + c);
    const __m256i low = _mm256_unpacklo_epi16(first, second);  // pairs 0-3 and 8-11
    const __m256i high = _mm256_unpackhi_epi16(first, second);
    Store(out, _mm256_permute2x128_si256(low, high, 0x20));
    Store(out + kColumns, _mm256_permute2x128_si256(low, high, 0x31));
  }
}

void LoadWide(const std::uint8_t* stored, std::int64_t n, bool is_signed, std::int32_t offset,
              std::int16_t* out) {
  const __m128i flip = _mm_set1_epi8(is_signed ? static_cast<char>(0x80) : 0);
  const __m256i base =
      _mm256_set1_epi16(static_cast<std::int16_t>(offset + (is_signed ? 0x80 : 0)));
  std::int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(stored + i));
    const __m256i wide = _mm256_cvtepu8_epi16(_mm_xor_si128(bytes, flip));
    Store(out + i, _mm256_sub_epi16(wide, base));
  }
  PortableLoadWide(stored + i, n - i, is_signed, offset, out + i);
}

// 16 outputs of stride 1: two taps at a time, interleaved into pairs.
void DepthwiseBlock(const std::int16_t* const* taps, const std::int16_t* weights, int tap_count,
                    std::int64_t i, std::int32_t* out) {
  __m256i low = _mm256_setzero_si256();  // outputs 0-3 and 8-11
  __m256i high = _mm256_setzero_si256();
  for (int t = 0; t < tap_count; t += 2) {
    const bool paired = t + 1 < tap_count;
    const std::int16_t pair[2] = {weights[t], paired ? weights[t + 1] : std::int16_t{0}};
    const __m256i weight = BroadcastPair(pair);
    const __m256i first = Load(taps[t] + i);
    const __m256i second = paired ? Load(taps[t + 1] + i) : _mm256_setzero_si256();
    low = _mm256_add_epi32(low, _mm256_madd_epi16(_mm256_unpacklo_epi16(first, second), weight));
    high = _mm256_add_epi32(high, _mm256_madd_epi16(_mm256_unpackhi_epi16(first, second), weight));
  }
  Store(out + i, _mm256_permute2x128_si256(low, high, 0x20));
  Store(out + i + 8, _mm256_permute2x128_si256(low, high, 0x31));
}

// 8 outputs of stride 2: an aligned pair of int16 holds the value wanted and one whose weight is
// zero.
void DepthwiseStrideTwo(const std::int16_t* const* taps, const std::int16_t* weights, int tap_count,
                        std::int64_t i, std::int32_t* out) {
  __m256i sum = _mm256_setzero_si256();
  for (int t = 0; t < tap_count; ++t) {
    const std::int16_t pair[2] = {weights[t], 0};
    sum = _mm256_add_epi32(sum, _mm256_madd_epi16(Load(taps[t] + 2 * i), BroadcastPair(pair)));
  }
  Store(out + i, sum);
}

void Depthwise(const std::int16_t* const* taps, const std::int16_t* weights, int tap_count,
               std::int64_t n, std::int64_t stride, std::int32_t* out) {
  std::int64_t i = 0;
  if (stride == 1) {
    for (; i + 16 <= n; i += 16) DepthwiseBlock(taps, weights, tap_count, i, out);
  } else if (stride == 2) {
    for (; i + 8 <= n; i += 8) DepthwiseStrideTwo(taps, weights, tap_count, i, out);
  }
  for (; i < n; ++i) {
    std::int32_t sum = 0;
    for (int t = 0; t < tap_count; ++t) sum += weights[t] * taps[t][i * stride];
    out[i] = sum;
  }
}

// Clamped v to 8 stored bytes; the doubtful lanes as a bit mask.
inline int RoundLanes(__m256 v, __m256 low, __m256 high, __m256i offset, __m256 threshold,
                      std::uint8_t* out) {
  v = _mm256_min_ps(_mm256_max_ps(v, low), high);
  const __m256i nearest = _mm256_cvtps_epi32(v);  // ties to even
  const __m256 distance =
      _mm256_andnot_ps(_mm256_set1_ps(-0.0F), _mm256_sub_ps(v, _mm256_cvtepi32_ps(nearest)));
  const __m256i stored = _mm256_add_epi32(nearest, offset);
  // The low byte of each lane, gathered within each half.
  const __m256i take =
      _mm256_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 4, 8, 12, -1,
                       -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
  const __m256i bytes = _mm256_shuffle_epi8(stored, take);
  const __m128i both =
      _mm_unpacklo_epi32(_mm256_castsi256_si128(bytes), _mm256_extracti128_si256(bytes, 1));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(out), both);
  return _mm256_movemask_ps(_mm256_cmp_ps(distance, threshold, _CMP_GE_OQ));
}

inline std::int64_t ListLanes(int mask, std::int64_t i, std::int32_t* doubtful,
                              std::int64_t count) {
  for (; mask != 0; mask &= mask - 1) {
    doubtful[count++] = static_cast<std::int32_t>(i) + __builtin_ctz(static_cast<unsigned>(mask));
  }
  return count;
}

template <bool kPerElement>
std::int64_t RequantizeRow(const std::int32_t* acc, std::int64_t n, const Rounding& rounding,
                           std::uint8_t* out, std::int32_t* doubtful) {
  const auto parameter = [](const float* p, std::int64_t i) {
    return kPerElement ? _mm256_loadu_ps(p + i) : _mm256_set1_ps(*p);
  };
  const __m256 low = _mm256_set1_ps(rounding.low);
  const __m256 high = _mm256_set1_ps(rounding.high);
  const __m256i offset = _mm256_set1_epi32(rounding.offset);
  std::int64_t count = 0;
  std::int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m256i correction =
        kPerElement ? Load(rounding.correction + i) : _mm256_set1_epi32(*rounding.correction);
    const __m256 sum = _mm256_cvtepi32_ps(_mm256_add_epi32(Load(acc + i), correction));
    const __m256 v = _mm256_add_ps(_mm256_mul_ps(sum, parameter(rounding.ratio, i)),
                                   parameter(rounding.bias, i));
    const int mask = RoundLanes(v, low, high, offset, parameter(rounding.threshold, i), out + i);
    if (mask != 0) count = ListLanes(mask, i, doubtful, count);
  }
  return RequantizeFrom(i, acc, n, rounding, out, doubtful, count);
}

std::int64_t Requantize(const std::int32_t* acc, std::int64_t n, const Rounding& rounding,
                        std::uint8_t* out, std::int32_t* doubtful) {
  return rounding.step == 0 ? RequantizeRow<false>(acc, n, rounding, out, doubtful)
                            : RequantizeRow<true>(acc, n, rounding, out, doubtful);
}

inline __m256 Centred(const std::uint8_t* stored, bool is_signed, std::int32_t offset) {
  const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(stored));
  const __m256i wide = is_signed ? _mm256_cvtepi8_epi32(bytes) : _mm256_cvtepu8_epi32(bytes);
  return _mm256_cvtepi32_ps(_mm256_sub_epi32(wide, _mm256_set1_epi32(offset)));
}

std::int64_t Add(const std::uint8_t* a, const std::uint8_t* b, std::int64_t n,
                 const AddRounding& rounding, std::uint8_t* out, std::int32_t* doubtful) {
  const __m256 a_ratio = _mm256_set1_ps(rounding.a_ratio);
  const __m256 b_ratio = _mm256_set1_ps(rounding.b_ratio);
  const __m256 low = _mm256_set1_ps(rounding.low);
  const __m256 high = _mm256_set1_ps(rounding.high);
  const __m256 threshold = _mm256_set1_ps(rounding.threshold);
  const __m256i offset = _mm256_set1_epi32(rounding.offset);
  std::int64_t count = 0;
  std::int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m256 left =
        _mm256_mul_ps(Centred(a + i, rounding.a_signed, rounding.a_offset), a_ratio);
    const __m256 right =
        _mm256_mul_ps(Centred(b + i, rounding.b_signed, rounding.b_offset), b_ratio);
    const int mask = RoundLanes(_mm256_add_ps(left, right), low, high, offset, threshold, out + i);
    if (mask != 0) count = ListLanes(mask, i, doubtful, count);
  }
  return AddFrom(i, a, b, n, rounding, out, doubtful, count);
}

}  // namespace

const Kernels& Avx2Kernels() {
  static const Kernels kKernels{.name = "avx2",
                                .wide = {.max_rows = kRows,
                                         .columns = kColumns,
                                         .group = kGroup,
                                         .multiply = Multiply,
                                         .interleave = Interleave,
                                         .load = LoadWide},
                                .narrow = {},
                                .depthwise = Depthwise,
                                .requantize = Requantize,
                                .add = Add};
  return kKernels;
}

}  // namespace qtx::backend::engine
