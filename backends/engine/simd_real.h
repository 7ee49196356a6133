// Products of reals in binary64 and binary32, as templates over an instruction set's vectors: see
// simd_kernels.h, whose rules for such templates hold here, too.
#pragma once

#include <cstddef>

#include "engine/kernels.h"

namespace qtx::backend::engine::simd {

// The compiler's own vectors: of kLanes / 2 binary64 or kLanes binary32, unless told otherwise, and
// as many values. Where the target has none this long, the compiler takes several.
template <typename Simd, typename W, typename Real,
          int kOf = Simd::kLanes / static_cast<int>(sizeof(Real) / sizeof(float))>
struct RealVectors {
  static constexpr int kLanes = kOf;
  static constexpr bool kNative = sizeof(Real) == sizeof(double) && kLanes == Simd::kLanes / 2;
  typedef Real Sum __attribute__((vector_size(kLanes * sizeof(Real))));
  typedef W Values __attribute__((vector_size(kLanes * sizeof(W))));

  static void Load(const W* p, Sum& to) {
    if constexpr (kNative && requires { Simd::WidenD(p); }) {
      to = Simd::WidenD(p);
    } else {
      Values values;
      __builtin_memcpy(&values, p, sizeof(values));
      to = __builtin_convertvector(values, Sum);
    }
  }
  // Of binary64 rounded once where the instruction set can, which the error bound of the sums
  // allows.
  static void AddProduct(Sum& sum, Real factor, const Sum& values) {
    if constexpr (kNative && requires { Simd::AddProductD(sum, factor, values); }) {
      sum = Simd::AddProductD(sum, factor, values);
    } else {
      sum += factor * values;
    }
  }
};

template <typename Simd, typename W, typename Real, bool kOwn, int kRows, int kVectors, int kLanes>
void RunRealBlock(const RealTile<W, Real>& t, std::int64_t column) {
  using Vectors = RealVectors<Simd, W, Real, kLanes>;
  typename Vectors::Sum sums[std::size_t{kRows}][std::size_t{kVectors}] = {};
  const Real* rows[std::size_t{kRows}];
#pragma GCC unroll 12  // all loops over rows and vectors, or the sums become an array in memory
  for (int r = 0; r < kRows; ++r) rows[r] = t.rows[r] + (kOwn ? column : 0);
  const W* line = t.values + column;
  for (std::int64_t k = 0; k < t.taps; ++k, line += t.columns) {
    const std::int64_t offset = t.offsets[k];
    typename Vectors::Sum values[std::size_t{kVectors}];
#pragma GCC unroll 12
    for (int v = 0; v < kVectors; ++v) Vectors::Load(line + v * kLanes, values[v]);
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 12
      for (int v = 0; v < kVectors; ++v) {
        if constexpr (kOwn) {
          typename Vectors::Sum own;
          __builtin_memcpy(&own, rows[r] + offset + v * kLanes, sizeof(own));
          sums[r][v] += own * values[v];
        } else {
          Vectors::AddProduct(sums[r][v], rows[r][offset], values[v]);
        }
      }
    }
  }
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 12
    for (int v = 0; v < kVectors; ++v) {
      Real* to = t.sums + r * t.columns + column + v * kLanes;
      __builtin_memcpy(to, &sums[r][v], sizeof(sums[r][v]));
    }
  }
}

// Columns from `column` on, in blocks of kVectors, then of half as many, and so on, then of shorter
// vectors.
template <typename Simd, typename W, typename Real, bool kOwn, int kRows, int kVectors, int kLanes>
void RunRealBlocks(const RealTile<W, Real>& t, std::int64_t column) {
  constexpr std::int64_t kColumns = std::int64_t{kVectors} * kLanes;
  for (; column + kColumns <= t.columns; column += kColumns) {
    RunRealBlock<Simd, W, Real, kOwn, kRows, kVectors, kLanes>(t, column);
  }
  if (column == t.columns) return;
  if constexpr (kVectors > 1) {
    RunRealBlocks<Simd, W, Real, kOwn, kRows, kVectors / 2, kLanes>(t, column);
  } else if constexpr (kLanes > kRealColumns) {
    RunRealBlocks<Simd, W, Real, kOwn, kRows, 1, kLanes / 2>(t, column);
  }
}

// Enough sums at a time for additions not to wait for each other.
template <typename Simd, typename W, typename Real, bool kOwn, int kRows>
void RunRealRows(const RealTile<W, Real>& t) {
  constexpr int kLanes = RealVectors<Simd, W, Real>::kLanes;
  constexpr int kMost = static_cast<int>(kMaxRealColumns) / kLanes;
  constexpr int kSums = (Simd::kLanes == 16 ? 6 : 12) / kRows;
  constexpr int kVectors = kSums < 1 ? 1 : kSums < kMost ? kSums : kMost;
  RunRealBlocks<Simd, W, Real, kOwn, kRows, kVectors, kLanes>(t, 0);
}

template <typename Simd, typename W, typename Real = double, bool kOwn = false, int kRows = 1>
void RunRealTile(const RealTile<W, Real>& t) {
  if constexpr (kRows < kMaxRealRows<Real>) {
    if (t.row_count > kRows) return RunRealTile<Simd, W, Real, kOwn, kRows + 1>(t);
  }
  RunRealRows<Simd, W, Real, kOwn, kRows>(t);
}

// True if all bits of a mask are set.
template <typename Mask>
bool IsAll(const Mask& mask) {
  unsigned long long words[sizeof(Mask) / sizeof(unsigned long long)];
  __builtin_memcpy(words, &mask, sizeof(mask));
  unsigned long long all = ~0ULL;
  for (const unsigned long long word : words) all &= word;
  return all == ~0ULL;
}

template <typename Simd>
std::int64_t RunSettleFloats(const RealSums<float>& sums, std::int32_t* doubtful) {
  using Vectors = RealVectors<Simd, float, float>;
  constexpr std::int64_t kLanes = Vectors::kLanes;
  const RealSums<float> of = sums;  // which y does not alias
  const typename Vectors::Sum addend = typename Vectors::Sum{} + of.addend[0];
  auto numbers = addend == addend || addend != addend;  // all
  bool ordered = true;
  std::int64_t i = 0;
  for (; i + kLanes <= of.n; i += kLanes) {
    typename Vectors::Sum y, own = addend;
    Vectors::Load(of.sums + i, y);
    if (of.addend_step != 0) Vectors::Load(of.addend + i, own);
    y += own;
    numbers &= y == y;
    __builtin_memcpy(of.y + i, &y, sizeof(y));
  }
  for (; i < of.n; ++i) {
    of.y[i] = of.sums[i] + of.addend[i * of.addend_step];
    ordered = ordered && of.y[i] == of.y[i];
  }
  ordered = ordered && IsAll(numbers);
  std::int64_t count = 0;
  for (i = 0; !ordered && i < of.n; ++i) {
    if (of.y[i] != of.y[i]) doubtful[count++] = static_cast<std::int32_t>(i);
  }
  return count;
}

// Less than half by the least that there is is added, which takes what is below a half to no other
// integer; halves round up to the next one.
template <typename Simd, typename Integer = std::int32_t>
bool RunQuantizeAway(const float* x, std::int64_t n, float factor, Integer zero,
                     std::uint8_t* out) {
  constexpr std::int64_t kLanes = Simd::kLanes;
  typedef float Reals __attribute__((vector_size(kLanes * sizeof(float))));
  typedef Integer Integers __attribute__((vector_size(kLanes * sizeof(Integer))));
  typedef std::uint8_t Bytes __attribute__((vector_size(kLanes)));
  constexpr float kHalf = 0x1.fffffep-2F;
  constexpr float kMost = 127;
  Integers numbers = ~Integers{};
  for (std::int64_t i = 0; i < n; i += kLanes) {
    const bool whole = i + kLanes <= n;
    const auto size = static_cast<std::size_t>(whole ? kLanes : n - i);
    Reals value = {};
    if (whole) {
      __builtin_memcpy(&value, x + i, sizeof(value));
    } else {
      __builtin_memcpy(&value, x + i, size * sizeof(float));
    }
    numbers &= value == value;
    value = value == 0 ? Reals{} : value * factor;
    value = value < -kMost ? Reals{} - kMost : value;
    value = value > kMost ? Reals{} + kMost : value;
    value += value < 0 ? Reals{} - kHalf : Reals{} + kHalf;
    const Integers stored = __builtin_convertvector(value, Integers) + zero;
    const Bytes bytes = __builtin_convertvector(stored, Bytes);
    if (whole) {
      __builtin_memcpy(out + i, &bytes, sizeof(bytes));
    } else {
      __builtin_memcpy(out + i, &bytes, size);
    }
  }
  bool all = true;
  for (int lane = 0; lane < kLanes; ++lane) all = all && numbers[lane] != 0;
  return all;
}

// A NaN stays.
template <typename Simd>
void RunBound(const float* x, std::int64_t n, float low, float high, float* y) {
  using Vectors = RealVectors<Simd, float, float>;
  constexpr std::int64_t kLanes = Vectors::kLanes;
  const typename Vectors::Sum least = typename Vectors::Sum{} + low;
  const typename Vectors::Sum most = typename Vectors::Sum{} + high;
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    typename Vectors::Sum value;
    Vectors::Load(x + i, value);
    value = value < least ? least : value;
    value = most < value ? most : value;
    __builtin_memcpy(y + i, &value, sizeof(value));
  }
  for (; i < n; ++i) {
    const float raised = x[i] < low ? low : x[i];
    y[i] = high < raised ? high : raised;
  }
}

template <typename Simd>
void RunWidenFloats(const float* x, std::int64_t step, std::int64_t n, double* y) {
  using Vectors = RealVectors<Simd, float, double>;
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
  Integer lanes[std::size_t{kLanes}];
  most[0] = most[1] > most[0] ? most[1] : most[0];
  __builtin_memcpy(lanes, most, sizeof(lanes));
  for (const Integer lane : lanes) greatest = lane > greatest ? lane : greatest;
  float value;
  __builtin_memcpy(&value, &greatest, sizeof(value));
  return static_cast<double>(value);
}

}  // namespace qtx::backend::engine::simd
