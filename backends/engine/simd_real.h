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

}  // namespace qtx::backend::engine::simd
