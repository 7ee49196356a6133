// Products of reals in binary64, as templates over an instruction set's vectors: see
// simd_kernels.h, whose rules for such templates hold here, too.
#pragma once

#include <cstddef>

#include "engine/kernels.h"

namespace qtx::backend::engine::simd {

// The compiler's own vectors: of kLanes / 2 binary64, and as many values. Where the target has none
// this long, the compiler takes several.
template <typename Simd, typename W>
struct RealVectors {
  static constexpr int kLanes = Simd::kLanes / 2;
  typedef double Sum __attribute__((vector_size(kLanes * sizeof(double))));
  typedef W Values __attribute__((vector_size(kLanes * sizeof(W))));

  static void Load(const W* p, Sum& to) {
    if constexpr (requires { Simd::WidenD(p); }) {
      to = Simd::WidenD(p);
    } else {
      Values values;
      __builtin_memcpy(&values, p, sizeof(values));
      to = __builtin_convertvector(values, Sum);
    }
  }
  // Rounded once where the instruction set can, which the error bound of the sums allows.
  static void AddProduct(Sum& sum, double factor, const Sum& values) {
    if constexpr (requires { Simd::AddProductD(sum, factor, values); }) {
      sum = Simd::AddProductD(sum, factor, values);
    } else {
      sum += factor * values;
    }
  }
};

// One tap. The fewer of the two, rows or vectors, stay in registers: with twelve sums there are no
// more than sixteen.
template <typename Simd, typename W, int kRows, int kVectors>
inline __attribute__((always_inline)) void AddByRows(
    const RealTile<W>& t, std::int64_t k, const W* line,
    typename RealVectors<Simd, W>::Sum (&sums)[std::size_t{kRows}][std::size_t{kVectors}]) {
  using Vectors = RealVectors<Simd, W>;
  typename Vectors::Sum values[std::size_t{kVectors}];
#pragma GCC unroll 12  // all loops over rows and vectors, or the sums become an array in memory
  for (int v = 0; v < kVectors; ++v) Vectors::Load(line + v * Vectors::kLanes, values[v]);
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
    const double factor = t.rows[r][k];
#pragma GCC unroll 12
    for (int v = 0; v < kVectors; ++v) Vectors::AddProduct(sums[r][v], factor, values[v]);
  }
}
template <typename Simd, typename W, int kRows, int kVectors>
inline __attribute__((always_inline)) void AddByVectors(
    const RealTile<W>& t, std::int64_t k, const W* line,
    typename RealVectors<Simd, W>::Sum (&sums)[std::size_t{kRows}][std::size_t{kVectors}]) {
  using Vectors = RealVectors<Simd, W>;
  double factors[std::size_t{kRows}];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) factors[r] = t.rows[r][k];
#pragma GCC unroll 12
  for (int v = 0; v < kVectors; ++v) {
    typename Vectors::Sum values;
    Vectors::Load(line + v * Vectors::kLanes, values);
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) Vectors::AddProduct(sums[r][v], factors[r], values);
  }
}

template <typename Simd, typename W, int kRows, int kVectors>
void RunRealBlock(const RealTile<W>& t, std::int64_t column) {
  using Vectors = RealVectors<Simd, W>;
  typename Vectors::Sum sums[std::size_t{kRows}][std::size_t{kVectors}] = {};
  for (std::int64_t k = 0; k < t.taps; ++k) {
    const W* line = t.values + t.offsets[k] + column;
    if constexpr (kRows > kVectors) {
      AddByRows<Simd, W, kRows, kVectors>(t, k, line, sums);
    } else {
      AddByVectors<Simd, W, kRows, kVectors>(t, k, line, sums);
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 12
    for (int v = 0; v < kVectors; ++v) {
      double* to = t.sums + r * t.columns + column + v * Vectors::kLanes;
      __builtin_memcpy(to, &sums[r][v], sizeof(sums[r][v]));
    }
  }
}

template <typename Simd, typename W, int kRows, int kVectors>
void RunRealRows(const RealTile<W>& t) {
  constexpr std::int64_t kLanes = RealVectors<Simd, W>::kLanes;
  std::int64_t column = 0;
  for (; column + kVectors * kLanes <= t.columns; column += kVectors * kLanes) {
    RunRealBlock<Simd, W, kRows, kVectors>(t, column);
  }
  for (; column < t.columns; column += kLanes) RunRealBlock<Simd, W, kRows, 1>(t, column);
}

// Twelve sums in registers: six vectors for each of two rows, and so on.
template <typename Simd, typename W>
void RunRealTile(const RealTile<W>& t) {
  switch (t.row_count) {
    case 1:
      return RunRealRows<Simd, W, 1, 12>(t);
    case 2:
      return RunRealRows<Simd, W, 2, 6>(t);
    case 3:
      return RunRealRows<Simd, W, 3, 4>(t);
    default:
      return RunRealRows<Simd, W, 4, 3>(t);
  }
}

template <typename Simd>
void RunWidenFloats(const float* x, std::int64_t step, std::int64_t n, double* y) {
  using Vectors = RealVectors<Simd, float>;
  constexpr std::int64_t kLanes = Vectors::kLanes;
  std::int64_t i = 0;
  for (; step == 1 && i + kLanes <= n; i += kLanes) {
    typename Vectors::Sum values;
    Vectors::Load(x + i, values);
    __builtin_memcpy(y + i, &values, sizeof(values));
  }
  for (; i < n; ++i) y[i] = static_cast<double>(x[i * step]);
}

// Bits of magnitudes are ordered as these are; NaN is above infinity.
template <typename Simd, typename Integer = std::int32_t>
double RunGreatest(const float* x, std::int64_t n) {
  constexpr std::int64_t kLanes = Simd::kLanes;
  typedef Integer Bits __attribute__((vector_size(kLanes * sizeof(Integer))));
  constexpr std::int32_t kMagnitude = 0x7FFFFFFF;
  constexpr std::int32_t kInfinity = 0x7F800000;
  Bits most[2] = {};
  std::int64_t i = 0;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
#pragma GCC unroll 2
    for (int v = 0; v < 2; ++v) {
      Bits bits;
      __builtin_memcpy(&bits, x + i + v * kLanes, sizeof(bits));
      bits &= kMagnitude;
      bits = bits > kInfinity ? Bits{} : bits;
      most[v] = bits > most[v] ? bits : most[v];
    }
  }
  std::int32_t greatest = 0;
  for (; i < n; ++i) {
    std::int32_t bits;
    __builtin_memcpy(&bits, x + i, sizeof(bits));
    bits &= kMagnitude;
    if (bits <= kInfinity && bits > greatest) greatest = bits;
  }
  for (int v = 0; v < 2; ++v) {
    for (int lane = 0; lane < kLanes; ++lane) {
      if (most[v][lane] > greatest) greatest = most[v][lane];
    }
  }
  float value;
  __builtin_memcpy(&value, &greatest, sizeof(value));
  return static_cast<double>(value);
}

}  // namespace qtx::backend::engine::simd
