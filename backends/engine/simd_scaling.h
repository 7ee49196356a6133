// The kernels that scale sums in the arithmetics other than `exact`; what a type Simd supplies is
// listed in simd_kernels.h, and why nothing of the standard library is used here.
#pragma once

#include <cstddef>

#include "engine/kernels.h"

namespace qtx::backend::engine::simd {

/// Above every stored byte and its offset; the saturating steps bring it to the largest.
inline constexpr float kBeyondBytes = 0x1p20F;

/// `count` bytes, of at most kMost: two parts of a power of two, which may overlap.
template <typename Simd, int kMost, int kPart = kMost / 2>
inline __attribute__((always_inline)) void StorePart(std::uint8_t* p, const std::uint8_t* bytes,
                                                     std::int64_t count) {
  if constexpr (kPart > 0) {
    if (count < kPart) return StorePart<Simd, kMost, kPart / 2>(p, bytes, count);
    __builtin_memcpy(p, bytes, std::size_t{kPart});
    __builtin_memcpy(p + count - kPart, bytes + count - kPart, std::size_t{kPart});
  }
}

/// Rows of few columns, at most kVectors vectors, 1 or 2: as many together as four vectors hold.
/// Returns the number of rows that are done, all but the last few. `round(row, out)` stores the
/// four vectors of the rows from `row` on.
template <typename Simd, int kVectors, typename Round>
inline __attribute__((always_inline)) std::int64_t RoundNarrowRows(const Sums& sums, Round round) {
  constexpr int kTogether = 4 / kVectors;
  constexpr int kColumns = kVectors * Simd::kLanes;
  const std::int64_t stride = sums.out_stride;
  const std::int64_t columns = sums.columns;
  std::uint8_t* out = sums.out;
  std::int64_t row = 0;
  for (; row + kTogether <= sums.rows; row += kTogether, out += kTogether * stride) {
    if (columns == kColumns && stride == kColumns) {
      round(row, out);
      continue;
    }
    std::uint8_t bytes[std::size_t{4 * Simd::kLanes}];
    round(row, bytes);
    for (int r = 0; r < kTogether; ++r) {
      StorePart<Simd, kColumns>(out + r * stride, bytes + r * kColumns, columns);
    }
  }
  return row;
}

/// Scales up to four vectors of columns, whose factors stay in registers for all rows.
template <typename Simd, int kVectors>
void ScaleColumns(const Sums& sums, std::int64_t first, std::int64_t n, const FloatScaling& s) {
  typename Simd::F32 factor[std::size_t{kVectors}];
#pragma GCC unroll 4
  for (int j = 0; j < kVectors; ++j) factor[j] = Simd::LoadF(s.factor + first + j * Simd::kLanes);
  // Own copies: bytes that are written might alias the caller's.
  const Narrowing narrowing = s.narrowing;
  const Sums own = sums;
  const std::int32_t* acc = own.acc + first;
  std::uint8_t* out = own.out + first;
  for (std::int64_t row = 0; row < own.rows; ++row, acc += own.stride, out += own.out_stride) {
    typename Simd::I32 nearest[4];
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) {
      const auto product = Simd::MulF(Simd::ToFloat(Simd::Load(acc + j * Simd::kLanes)), factor[j]);
      nearest[j] = Simd::Nearest(Simd::MinF(product, Simd::SetF(kBeyondBytes)));
    }
#pragma GCC unroll 4
    for (int j = kVectors; j < 4; ++j) nearest[j] = nearest[0];
    Simd::StoreNarrowed(out, nearest, narrowing, n);
  }
}

template <typename Simd, int kVectors>
void ScaleNarrow(const Sums& sums, const FloatScaling& s) {
  const Narrowing narrowing = s.narrowing;
  typename Simd::F32 factor[std::size_t{kVectors}];
#pragma GCC unroll 2
  for (int v = 0; v < kVectors; ++v) factor[v] = Simd::LoadF(s.factor + v * Simd::kLanes);
  const std::int32_t* first = sums.acc;
  const std::int64_t stride = sums.stride;
  const std::int64_t done = RoundNarrowRows<Simd, kVectors>(
      sums, [&](std::int64_t row, std::uint8_t * out) __attribute__((always_inline)) {
        typename Simd::I32 nearest[4];
#pragma GCC unroll 4
        for (int j = 0; j < 4; ++j) {
          const std::int32_t* acc =
              first + (row + j / kVectors) * stride + j % kVectors * Simd::kLanes;
          const auto product = Simd::MulF(Simd::ToFloat(Simd::Load(acc)), factor[j % kVectors]);
          nearest[j] = Simd::Nearest(Simd::MinF(product, Simd::SetF(kBeyondBytes)));
        }
        Simd::StoreNarrowed(out, nearest, narrowing, 4 * Simd::kLanes);
      });
  Sums rest = sums;
  rest.acc += done * sums.stride;
  rest.out += done * sums.out_stride;
  rest.rows -= done;
  ScaleColumns<Simd, kVectors>(rest, 0, sums.columns, s);
}

template <typename Simd>
void RunScale(const Sums& sums, const FloatScaling& s) {
  constexpr std::int64_t kLanes = Simd::kLanes;
  if (sums.columns <= kLanes) return ScaleNarrow<Simd, 1>(sums, s);
  if (sums.columns <= 2 * kLanes) return ScaleNarrow<Simd, 2>(sums, s);
  std::int64_t i = 0;
  for (; i + 3 * kLanes < sums.columns; i += 4 * kLanes) {
    const std::int64_t left = sums.columns - i;
    ScaleColumns<Simd, 4>(sums, i, left < 4 * kLanes ? left : 4 * kLanes, s);
  }
  const std::int64_t left = sums.columns - i;
  if (left > 2 * kLanes) return ScaleColumns<Simd, 3>(sums, i, left, s);
  if (left > kLanes) return ScaleColumns<Simd, 2>(sums, i, left, s);
  if (left > 0) ScaleColumns<Simd, 1>(sums, i, left, s);
}

/// (acc * mantissa + addend) / 2^31 towards negative infinity. The product lies below 2^62 in
/// magnitude: with 2^62 added its shift is a logical one, which more instruction sets have in 64
/// bits, and the low 32 bits are the same. The compiler makes vectors of it.
template <typename Simd>
std::int32_t HighProduct(std::int32_t acc, std::int32_t mantissa, std::uint32_t addend) {
  constexpr std::uint64_t kAbove = std::uint64_t{1} << 62;
  const auto product = static_cast<std::uint64_t>(std::int64_t{acc} * mantissa);
  return static_cast<std::int32_t>(static_cast<std::uint32_t>((product + (addend + kAbove)) >> 31) -
                                   (std::uint32_t{1} << 31));
}

/// tflite.S2 of one lane: what the high product cuts off lies below the bit that decides, unless
/// there is no shift.
template <typename Simd>
struct MultiplyLaneOnce {
  static std::int32_t Run(std::int32_t acc, std::int32_t mantissa, std::int32_t shift) {
    const std::int32_t shifts = shift > 0 ? 1 : 0;
    const std::uint32_t half = shifts != 0 ? 0 : std::uint32_t{1} << 30;
    const std::int32_t high = HighProduct<Simd>(acc, mantissa, half);
    return (high >> shift) + ((high >> (shift - shifts)) & shifts);
  }
};

/// tflite.S3 of one lane.
template <typename Simd>
struct MultiplyLaneTwice {
  static std::int32_t Run(std::int32_t acc, std::int32_t mantissa, std::int32_t shift) {
    const std::int32_t high = HighProduct<Simd>(acc, mantissa, std::uint32_t{1} << 30);
    const auto mask = static_cast<std::int32_t>((std::uint32_t{1} << shift) - 1);
    const std::int32_t threshold = (mask >> 1) + (high < 0 ? 1 : 0);
    return (high >> shift) + ((high & mask) > threshold ? 1 : 0);
  }
};

template <typename Simd, typename Lane>
void RunMultiply(const Sums& sums, const FixedScaling& scaling) {
  constexpr std::int64_t kLanes = Simd::kLanes;
  const FixedScaling s = scaling;  // own copies: see ScaleColumns
  const Sums own = sums;
  for (std::int64_t i = 0; i < own.columns; i += 4 * kLanes) {
    const std::int64_t n = own.columns - i < 4 * kLanes ? own.columns - i : 4 * kLanes;
    for (std::int64_t row = 0; row < own.rows; ++row) {
      const std::int32_t* acc = own.acc + row * own.stride + i;
      std::int32_t scaled[std::size_t{4 * Simd::kLanes}] = {};
      for (std::int64_t first = 0; first < n; first += kLanes) {
        for (std::int64_t j = first; j < first + kLanes; ++j) {
          scaled[j] = Lane::Run(acc[j], s.mantissa[i + j], s.shift[i + j]);
        }
      }
      const typename Simd::I32 nearest[4] = {Simd::Load(scaled), Simd::Load(scaled + kLanes),
                                             Simd::Load(scaled + 2 * kLanes),
                                             Simd::Load(scaled + 3 * kLanes)};
      Simd::StoreNarrowed(own.out + row * own.out_stride + i, nearest, s.narrowing, n);
    }
  }
}

template <typename Simd>
void RunDequantize(const std::uint8_t* x, std::int64_t n, std::int32_t offset, float scale,
                   float* y) {
  for (std::int64_t i = 0; i < n; ++i) {
    y[i] = static_cast<float>(static_cast<typename Simd::Byte>(x[i]) - offset) * scale;
  }
}

template <typename Simd>
void RunQuantize(const float* values, std::int64_t n, float scale, Narrowing narrowing,
                 std::uint8_t* out) {
  constexpr std::int64_t kBlock = 4 * Simd::kLanes;
  for (std::int64_t i = 0; i < n; i += kBlock) {
    float quotient[std::size_t{4 * Simd::kLanes}];
    for (std::int64_t j = 0; j < kBlock; ++j) {
      float q = values[i + j] / scale;
      q = q == q ? q : 0.0F;
      q = q < kBeyondBytes ? q : kBeyondBytes;
      quotient[j] = q > -kBeyondBytes ? q : -kBeyondBytes;
    }
    typename Simd::I32 nearest[4];
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      nearest[j] = Simd::Nearest(Simd::LoadF(quotient + j * Simd::kLanes));
    }
    Simd::StoreNarrowed(out + i, nearest, narrowing, n - i < kBlock ? n - i : kBlock);
  }
}

}  // namespace qtx::backend::engine::simd
