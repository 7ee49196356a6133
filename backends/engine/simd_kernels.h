// The kernels as templates over an instruction set's vectors. A file that instantiates them is
// compiled with that instruction set enabled, so nothing here may use an inline function of the
// standard library: the linker could keep that file's copy for everybody.
//
// A type Simd supplies, all static:
//   Byte                         int8 or uint8: the type of 8-bit buffers
//   I32, F32                     vectors of kLanes int32 and binary32
//   Zero() Load(const int32*) Store(int32*, I32) Set(int32) AddI(I32, I32)
//   SetF(float) LoadF(const float*) ToFloat(I32) Nearest(F32) -> I32, ties to even
//   MulF MinF AbsF, MulAddF(a, b, c): a * b + c, rounded once or twice
//   WidenD(const float*) -> D, NarrowD(D) -> a vector of binary32: only where the compiler's own
//     conversion of vectors is slower (GCC 12 takes AVX's apart)
//   AddProductD(D sum, double factor, D values): sum + factor * values of kLanes / 2 binary64,
//     rounded once; only where that is one instruction
//   MulAddD(a, b, c): a * b + c of kLanes / 2 binary64, rounded once; likewise
//   Fraction(F32 v, I32 nearest) v - nearest; MaxAbsF(F32 a, F32 b): the greater of a >= 0 and |b|
//   AtLeast(F32 a, F32 b) -> unsigned, bit i: a[i] >= b[i]
//   StoreNarrowed(uint8*, const I32 (&)[4], Narrowing, int64 n): n bytes, saturating all the way
//   LoadBytes(const uint8*) -> I32, of bytes of a buffer (Kernels::signed_bytes)
// A type Dot of operands A and W supplies
//   kGroup, kPairLimit, Vector (of kGroup * kLanes weights), Broadcast
//   Load(const W*) -> Vector, Spread(const A*) -> Broadcast: one group to every lane
//   Multiply(I32 sum, Broadcast, Vector) -> I32; for bytes also LoadValues(const uint8*) of a whole
//   vector's activations, of type Broadcast
// Every template has a type of the instantiating file among its arguments, so that each file's
// functions are its own.
#pragma once

#include <cstddef>

#include "engine/kernels.h"
#include "engine/simd_float_function.h"
#include "engine/simd_real.h"
#include "engine/simd_scaling.h"

namespace qtx::backend::engine::simd {

template <typename Simd, typename Dot, int kRows, int kVectors>
void RunTile(const Tile<typename Dot::A, typename Dot::W>& t) {
  using I32 = typename Simd::I32;
  constexpr int kLanes = Simd::kLanes;
  I32 sums[std::size_t{kRows}][std::size_t{kVectors}];
  const typename Dot::A* rows[std::size_t{kRows}];
#pragma GCC unroll 8  // all loops over rows and vectors, or the sums become an array in memory
  for (int r = 0; r < kRows; ++r) {
    rows[r] = t.rows[r];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      sums[r][v] = Simd::Load(t.initial + r * t.initial_stride + v * kLanes);
    }
  }
  const typename Dot::W* panel = t.panels;
  for (const Segment* s = t.segments; s != t.segments + t.segment_count; ++s) {
    const std::int64_t end = s->offset + std::int64_t{s->groups} * Dot::kGroup;
    for (std::int64_t k = s->offset; k < end; k += Dot::kGroup, panel += kLanes * Dot::kGroup) {
      typename Dot::Vector columns[std::size_t{kVectors}];
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) columns[v] = Dot::Load(panel + v * t.panel_stride);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        const auto row = Dot::Spread(rows[r] + k);
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) {
          sums[r][v] = Dot::Multiply(sums[r][v], row, columns[v]);
        }
      }
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      Simd::Store(t.sums + r * t.stride + v * kLanes, sums[r][v]);
    }
  }
}

/// Sets the entries of tiles of up to kRows rows by kVectors vectors.
template <typename Simd, typename Dot, int kVectors, int kRows, typename Kernels>
constexpr void SetTiles(Kernels& kernels) {
  if constexpr (kRows > 0) {
    kernels.tile[kVectors - 1][kRows - 1] = RunTile<Simd, Dot, kRows, kVectors>;
    SetTiles<Simd, Dot, kVectors, kRows - 1>(kernels);
  }
}

/// Maximum rows of tiles of 1, 2, ... vectors; 0 ends the list.
template <typename Simd, typename Dot, int kRows1, int kRows2, int kRows3, int kRows4>
constexpr ProductKernels<typename Dot::A, typename Dot::W> MakeProducts() {
  ProductKernels<typename Dot::A, typename Dot::W> kernels;
  kernels.group = Dot::kGroup;
  kernels.lanes = Simd::kLanes;
  kernels.pair_limit = Dot::kPairLimit;
  kernels.vectors = kRows4 > 0 ? 4 : kRows3 > 0 ? 3 : kRows2 > 0 ? 2 : 1;
  SetTiles<Simd, Dot, 1, kRows1>(kernels);
  SetTiles<Simd, Dot, 2, kRows2>(kernels);
  SetTiles<Simd, Dot, 3, kRows3>(kernels);
  SetTiles<Simd, Dot, 4, kRows4>(kernels);
  return kernels;
}

/// kVectors vectors of a depthwise convolution's sums, from element i on.
template <typename Simd, typename Dot, int kVectors>
void AddQuads(const QuadSums& q, std::int64_t i) {
  constexpr int kLanes = Simd::kLanes;
  typename Simd::I32 sums[std::size_t{kVectors}];
#pragma GCC unroll 4
  for (int j = 0; j < kVectors; ++j) sums[j] = Simd::Load(q.initial + i + j * kLanes);
  const std::int8_t* weights = q.weights + 4 * i;
  for (std::int64_t t = 0; t < q.taps; ++t, weights += q.weight_stride) {
    const std::uint8_t* values = q.values + q.offsets[t] + 4 * i;
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) {
      sums[j] = Dot::Multiply(sums[j], Dot::LoadValues(values + j * 4 * kLanes),
                              Dot::Load(weights + j * 4 * kLanes));
    }
  }
#pragma GCC unroll 4
  for (int j = 0; j < kVectors; ++j) Simd::Store(q.sums + i + j * kLanes, sums[j]);
}

template <typename Simd, typename Dot>
void RunQuadSums(const QuadSums& quads) {
  const QuadSums q = quads;  // its own copy: the sums might alias the caller's
  std::int64_t i = 0;
  for (; i + 4 * Simd::kLanes <= q.n; i += 4 * Simd::kLanes) AddQuads<Simd, Dot, 4>(q, i);
  for (; i < q.n; i += Simd::kLanes) AddQuads<Simd, Dot, 1>(q, i);
}

template <typename Simd>
void RunInterleave(const std::uint8_t* const* rows, std::int64_t n, std::uint8_t* out) {
  const std::uint8_t* a = rows[0];
  const std::uint8_t* b = rows[1];
  const std::uint8_t* c = rows[2];
  const std::uint8_t* d = rows[3];
  for (std::int64_t i = 0; i < n; ++i) {
    out[4 * i] = a[i];
    out[4 * i + 1] = b[i];
    out[4 * i + 2] = c[i];
    out[4 * i + 3] = d[i];
  }
}

template <typename Simd>
void RunWiden(const std::uint8_t* stored, std::int64_t n, std::int32_t offset, std::int16_t* out) {
  for (std::int64_t i = 0; i < n; ++i) {
    out[i] = static_cast<std::int16_t>(static_cast<typename Simd::Byte>(stored[i]) - offset);
  }
}

/// `count` elements, at most four vectors, to as many stored bytes, and the mask of their doubtful
/// lanes. v is bounded above, so that it has an int32: what lies below them all becomes the
/// smallest, and clamps as it should. `threshold(j)` is asked for only where some lane is as far
/// from an integer as the least of all thresholds.
template <typename Simd, int kVectors, typename Value, typename Threshold>
inline __attribute__((always_inline)) std::uint64_t RoundVectors(std::int64_t count,
                                                                 Narrowing narrowing,
                                                                 typename Simd::F32 least,
                                                                 Value value, Threshold threshold,
                                                                 std::uint8_t* out) {
  typename Simd::I32 nearest[4];
  typename Simd::F32 fraction[std::size_t{kVectors}];
#pragma GCC unroll 4
  for (int j = 0; j < kVectors; ++j) {
    const auto v = Simd::MinF(value(j), Simd::SetF(kBeyondBytes));
    nearest[j] = Simd::Nearest(v);
    fraction[j] = Simd::Fraction(v, nearest[j]);
  }
#pragma GCC unroll 4
  for (int j = kVectors; j < 4; ++j) nearest[j] = nearest[0];
  Simd::StoreNarrowed(out, nearest, narrowing, count);
  auto farthest = Simd::AbsF(fraction[0]);
#pragma GCC unroll 4
  for (int j = 1; j < kVectors; ++j) farthest = Simd::MaxAbsF(farthest, fraction[j]);
  if (Simd::AtLeast(farthest, least) == 0) [[likely]]
    return 0;
  std::uint64_t doubtful = 0;
#pragma GCC unroll 4
  for (int j = 0; j < kVectors; ++j) {
    const std::uint64_t lanes = Simd::AtLeast(Simd::AbsF(fraction[j]), threshold(j));
    doubtful |= lanes << (j * Simd::kLanes);
  }
  return count < 64 ? doubtful & ((std::uint64_t{1} << count) - 1) : doubtful;
}

template <typename Simd>
std::int64_t ListLanes(std::uint64_t mask, std::int64_t i, std::int32_t* doubtful,
                       std::int64_t count) {
  for (; mask != 0; mask &= mask - 1) {
    doubtful[count++] = static_cast<std::int32_t>(i) + __builtin_ctzll(mask);
  }
  return count;
}

/// Requantizes up to four vectors of columns, whose parameters stay in registers for all rows.
template <typename Simd, int kVectors>
std::int64_t RequantizeColumns(const Sums& sums, std::int64_t first, std::int64_t n,
                               const Rounding& r, std::int32_t* doubtful, std::int64_t count) {
  typename Simd::F32 ratio[std::size_t{kVectors}];
  typename Simd::F32 bias[std::size_t{kVectors}];
#pragma GCC unroll 4
  for (int j = 0; j < kVectors; ++j) {
    ratio[j] = Simd::LoadF(r.ratio + first + j * Simd::kLanes);
    bias[j] = Simd::LoadF(r.bias + first + j * Simd::kLanes);
  }
  // Own copies: bytes that are written might alias the caller's.
  const Narrowing narrowing = r.narrowing;
  const typename Simd::F32 least = Simd::SetF(r.least);
  const std::int64_t stride = sums.stride;
  const std::int64_t out_stride = sums.out_stride;
  const std::int32_t* acc = sums.acc + first;
  std::uint8_t* out = sums.out + first;
  const std::int64_t rows = sums.rows;
  for (std::int64_t row = 0; row < rows; ++row, acc += stride, out += out_stride) {
    const auto value = [&](int j) {
      return Simd::MulAddF(Simd::ToFloat(Simd::Load(acc + j * Simd::kLanes)), ratio[j], bias[j]);
    };
    const auto threshold = [&](int j) {
      return Simd::LoadF(r.threshold + first + j * Simd::kLanes);
    };
    const std::uint64_t mask =
        RoundVectors<Simd, kVectors>(n, narrowing, least, value, threshold, out);
    if (mask != 0) count = ListLanes<Simd>(mask, row * stride + first, doubtful, count);
  }
  return count;
}

/// Computes every period-th block of four vectors from `first` on, whose weights and parameters
/// stay in registers. kTaps 0: any number, their weights in memory.
template <typename Simd, typename Dot, int kTaps>
std::int64_t RunQuadBlocks(const QuadLine& line, std::int64_t first, Doubtful* doubtful,
                           std::int64_t count) {
  constexpr int kLanes = Simd::kLanes;
  constexpr int kBlock = 4 * kLanes;
  const QuadLine l = line;  // its own copy: bytes that are written might alias the caller's
  const QuadSums& q = l.sums;
  typename Simd::I32 initial[4];
  typename Simd::F32 ratio[4];
  typename Simd::F32 bias[4];
  typename Dot::Vector weights[std::size_t{kTaps == 0 ? 1 : kTaps}][4];
  const std::uint8_t* values[std::size_t{kTaps == 0 ? 1 : kTaps}];
  const typename Simd::F32 least = Simd::SetF(l.rounding.least);
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    initial[j] = Simd::Load(q.initial + first + j * kLanes);
    ratio[j] = Simd::LoadF(l.rounding.ratio + first + j * kLanes);
    bias[j] = Simd::LoadF(l.rounding.bias + first + j * kLanes);
#pragma GCC unroll 4
    for (int t = 0; t < kTaps; ++t) {
      weights[t][j] = Dot::Load(q.weights + t * q.weight_stride + 4 * (first + j * kLanes));
    }
  }
#pragma GCC unroll 4
  for (int t = 0; t < kTaps; ++t) values[t] = q.values + q.offsets[t];
  for (std::int64_t i = first; i < q.n; i += l.period) {
    typename Simd::I32 sums[4];
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) sums[j] = initial[j];
    if constexpr (kTaps == 0) {
      for (std::int64_t t = 0; t < q.taps; ++t) {
        const std::uint8_t* at = q.values + q.offsets[t] + 4 * i;
        const std::int8_t* w = q.weights + t * q.weight_stride + 4 * first;
#pragma GCC unroll 4
        for (int j = 0; j < 4; ++j) {
          sums[j] = Dot::Multiply(sums[j], Dot::LoadValues(at + 4 * j * kLanes),
                                  Dot::Load(w + 4 * j * kLanes));
        }
      }
    } else {
#pragma GCC unroll 4
      for (int t = 0; t < kTaps; ++t) {
#pragma GCC unroll 4
        for (int j = 0; j < 4; ++j) {
          sums[j] = Dot::Multiply(sums[j], Dot::LoadValues(values[t] + 4 * (i + j * kLanes)),
                                  weights[t][j]);
        }
      }
    }
    const auto value = [&](int j) {
      return Simd::MulAddF(Simd::ToFloat(sums[j]), ratio[j], bias[j]);
    };
    const auto threshold = [&](int j) {
      return Simd::LoadF(l.rounding.threshold + first + j * kLanes);
    };
    std::uint64_t mask =
        RoundVectors<Simd, 4>(q.n - i < kBlock ? q.n - i : kBlock, l.rounding.narrowing, least,
                              value, threshold, l.out + i);
    if (mask == 0) [[likely]]
      continue;
    std::int32_t acc[std::size_t{kBlock}];
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) Simd::Store(acc + j * kLanes, sums[j]);
    for (; mask != 0; mask &= mask - 1) {
      const int lane = __builtin_ctzll(mask);
      doubtful[count++] = {static_cast<std::int32_t>(i) + lane, acc[lane]};
    }
  }
  return count;
}

template <typename Simd, typename Dot>
std::int64_t RunQuadLine(const QuadLine& line, Doubtful* doubtful) {
  std::int64_t count = 0;
  for (std::int64_t first = 0; first < line.period && first < line.sums.n;
       first += 4 * Simd::kLanes) {
    count = line.sums.taps == 3 ? RunQuadBlocks<Simd, Dot, 3>(line, first, doubtful, count)
                                : RunQuadBlocks<Simd, Dot, 0>(line, first, doubtful, count);
  }
  return count;
}

/// The same of rows of at most kVectors vectors, several together.
template <typename Simd, int kVectors>
std::int64_t RequantizeNarrow(const Sums& sums, const Rounding& r, std::int32_t* doubtful) {
  constexpr std::int64_t kColumns = kVectors * Simd::kLanes;
  const Narrowing narrowing = r.narrowing;
  const typename Simd::F32 least = Simd::SetF(r.least);
  typename Simd::F32 ratio[std::size_t{kVectors}];
  typename Simd::F32 bias[std::size_t{kVectors}];
#pragma GCC unroll 2
  for (int v = 0; v < kVectors; ++v) {
    ratio[v] = Simd::LoadF(r.ratio + v * Simd::kLanes);
    bias[v] = Simd::LoadF(r.bias + v * Simd::kLanes);
  }
  std::int64_t count = 0;
  const std::int64_t stride = sums.stride;
  const std::int64_t columns = sums.columns;
  const std::int64_t done = RoundNarrowRows<Simd, kVectors>(
      sums, [&](std::int64_t row, std::uint8_t * out) __attribute__((always_inline)) {
        const std::int32_t* acc = sums.acc + row * stride;
        const auto value = [&](int j) {
          const std::int32_t* at = acc + j / kVectors * stride + j % kVectors * Simd::kLanes;
          return Simd::MulAddF(Simd::ToFloat(Simd::Load(at)), ratio[j % kVectors],
                               bias[j % kVectors]);
        };
        const auto threshold = [&](int j) {
          return Simd::LoadF(r.threshold + j % kVectors * Simd::kLanes);
        };
        std::uint64_t mask =
            RoundVectors<Simd, 4>(4 * Simd::kLanes, narrowing, least, value, threshold, out);
        for (; mask != 0; mask &= mask - 1) {
          const std::int64_t lane = __builtin_ctzll(mask);
          if (lane % kColumns >= columns) continue;
          doubtful[count++] =
              static_cast<std::int32_t>((row + lane / kColumns) * stride + lane % kColumns);
        }
      });
  Sums rest = sums;
  rest.acc += done * stride;
  rest.out += done * sums.out_stride;
  rest.rows -= done;
  const std::int64_t before = count;
  count = RequantizeColumns<Simd, kVectors>(rest, 0, columns, r, doubtful, count);
  for (std::int64_t d = before; d < count; ++d) {
    doubtful[d] += static_cast<std::int32_t>(done * stride);
  }
  return count;
}

template <typename Simd>
std::int64_t RunRequantize(const Sums& sums, const Rounding& r, std::int32_t* doubtful) {
  constexpr std::int64_t kLanes = Simd::kLanes;
  if (sums.columns <= kLanes) return RequantizeNarrow<Simd, 1>(sums, r, doubtful);
  if (sums.columns <= 2 * kLanes) return RequantizeNarrow<Simd, 2>(sums, r, doubtful);
  std::int64_t count = 0;
  std::int64_t i = 0;
  for (; i + 3 * kLanes < sums.columns; i += 4 * kLanes) {
    const std::int64_t n = sums.columns - i < 4 * kLanes ? sums.columns - i : 4 * kLanes;
    count = RequantizeColumns<Simd, 4>(sums, i, n, r, doubtful, count);
  }
  const std::int64_t left = sums.columns - i;
  if (left > 2 * kLanes) return RequantizeColumns<Simd, 3>(sums, i, left, r, doubtful, count);
  if (left > kLanes) return RequantizeColumns<Simd, 2>(sums, i, left, r, doubtful, count);
  if (left > 0) return RequantizeColumns<Simd, 1>(sums, i, left, r, doubtful, count);
  return count;
}

/// Rounds value(i), a vector of elements from i on.
template <typename Simd, typename Value>
std::int64_t RoundPairs(std::int64_t n, float least, Narrowing narrowing, Value value,
                        std::uint8_t* out, std::int32_t* doubtful) {
  constexpr std::int64_t kBlock = 4 * Simd::kLanes;
  const auto threshold = [least](int) { return Simd::SetF(least); };
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < n; i += kBlock) {
    const std::uint64_t mask = RoundVectors<Simd, 4>(
        n - i < kBlock ? n - i : kBlock, narrowing, Simd::SetF(least),
        [&](int j) { return value(i + j * Simd::kLanes); }, threshold, out + i);
    if (mask != 0) count = ListLanes<Simd>(mask, i, doubtful, count);
  }
  return count;
}

/// y = x * ratio, rounded as pairs are. -1 if an element is NaN.
template <typename Simd>
std::int64_t RunRoundFloats(const float* x, std::int64_t n, const FloatRounding& rounding,
                            std::uint8_t* out, std::int32_t* doubtful) {
  const FloatRounding r = rounding;
  unsigned ordered = ~0U;
  const auto value = [&](std::int64_t i) {
    const auto v = Simd::LoadF(x + i);
    ordered &= Simd::AtLeast(v, v);
    return Simd::MulF(v, Simd::SetF(r.ratio));
  };
  const std::int64_t count = RoundPairs<Simd>(n, r.threshold, r.narrowing, value, out, doubtful);
  constexpr unsigned kAll = (1U << Simd::kLanes) - 1;
  return (ordered & kAll) == kAll ? count : -1;
}

template <typename Simd>
void RunPairSum(const PairSum& pair, std::int64_t n, std::int32_t* sums) {
  const PairSum b = pair;
  for (std::int64_t i = 0; i < n; ++i) {
    sums[i] = b.first[i] * b.first_weight + b.second[i] * b.second_weight;
  }
}

template <typename Simd>
auto Centred(const std::uint8_t* stored, std::int32_t offset) {
  return Simd::ToFloat(Simd::AddI(Simd::LoadBytes(stored), Simd::Set(-offset)));
}

// Both take their rounding by its own copy: bytes that are written might alias the caller's.
template <typename Simd>
std::int64_t RunAdd(const std::uint8_t* a, const std::uint8_t* b, std::int64_t n,
                    const AddRounding& rounding, std::uint8_t* out, std::int32_t* doubtful) {
  const AddRounding r = rounding;
  const auto value = [&](std::int64_t i) {
    const auto right = Simd::MulF(Centred<Simd>(b + i, r.b_offset), Simd::SetF(r.b_ratio));
    return Simd::MulAddF(Centred<Simd>(a + i, r.a_offset), Simd::SetF(r.a_ratio), right);
  };
  return RoundPairs<Simd>(n, r.threshold, r.narrowing, value, out, doubtful);
}

template <typename Simd>
std::int64_t RunMul(const std::uint8_t* a, const std::uint8_t* b, std::int64_t n,
                    const MulRounding& rounding, std::uint8_t* out, std::int32_t* doubtful) {
  const MulRounding r = rounding;
  const auto value = [&](std::int64_t i) {
    // The first product is an integer below 2^16.
    const auto product =
        Simd::MulF(Centred<Simd>(a + i, r.a_offset), Centred<Simd>(b + i, r.b_offset));
    return Simd::MulF(product, Simd::SetF(r.ratio));
  };
  return RoundPairs<Simd>(n, r.threshold, r.narrowing, value, out, doubtful);
}

template <typename Simd, typename Bytes>
constexpr Kernels MakeKernels(std::string_view name,
                              ProductKernels<std::uint8_t, std::int8_t> bytes,
                              ProductKernels<std::int16_t, std::int16_t> words) {
  return {.name = name,
          .signed_bytes = static_cast<typename Simd::Byte>(-1) < 0,
          .lanes = Simd::kLanes,
          .bytes = bytes,
          .words = words,
          .quad_sums = RunQuadSums<Simd, Bytes>,
          .quad_line = RunQuadLine<Simd, Bytes>,
          .interleave = RunInterleave<Simd>,
          .widen = RunWiden<Simd>,
          .requantize = RunRequantize<Simd>,
          .add = RunAdd<Simd>,
          .mul = RunMul<Simd>,
          .round_floats = RunRoundFloats<Simd>,
          .sum_pair = RunPairSum<Simd>,
          .scale = RunScale<Simd>,
          .multiply_once = RunMultiply<Simd, MultiplyLaneOnce<Simd>>,
          .multiply_twice = RunMultiply<Simd, MultiplyLaneTwice<Simd>>,
          .dequantize = RunDequantize<Simd>,
          .quantize = RunQuantize<Simd>,
          .quantize_away = RunQuantizeAway<Simd>,
          .bound = RunBound<Simd>,
          .widen_floats = RunWidenFloats<Simd>,
          .greatest = RunGreatest<Simd>,
          .real_tile = RunRealTile<Simd, double>,
          .real_tile_of_floats = RunRealTile<Simd, float>,
          .real_tile_of_bytes = RunRealTile<Simd, std::int8_t>,
          .float_tile = RunRealTile<Simd, float, float>,
          .own_real_tile = RunRealTile<Simd, double, double, true>,
          .own_float_tile = RunRealTile<Simd, float, float, true>,
          .settle = RunSettle<Simd>,
          .settle_floats = RunSettleFloats<Simd>,
          .nearest_quotients = RunNearestQuotients<Simd>,
          .exp = RunFloatFunction<Simd, ExpOf>,
          .sigmoid = RunFloatFunction<Simd, SigmoidOfFloat>,
          .tanh = RunFloatFunction<Simd, TanhOfFloat>,
          .exponentials = RunExponentials<Simd>};
}

}  // namespace qtx::backend::engine::simd
