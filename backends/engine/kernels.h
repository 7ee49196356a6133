// What an instruction set supplies. The engine plans, packs and decides doubtful roundings; a
// kernel only multiplies, widens and rounds what is certain. Every kernel gives the same integers
// as the portable one. Adding an instruction set is one file with its vectors (simd/portable.cc is
// the shortest example) and a row in the backend's table.
#pragma once

#include <cstdint>
#include <string_view>

namespace qtx::backend::engine {

/// Consecutive groups of a row that meet consecutive groups of a panel: `groups` of them, from
/// `offset` elements after the row's beginning.
struct Segment {
  std::int32_t offset = 0;
  std::int32_t groups = 0;
};

/// A tile of sums, [rows][vectors * lanes]:
///   sums[r * stride + c] = initial[r * initial_stride + c] + sum over the groups g of all segments
///   and j < group of
///       rows[r][g * group + j] * panels[c / lanes * panel_stride + (g * lanes + c % lanes) * group
///       + j]
/// where a row's groups lie as its segments say, a panel's one behind the other.
/// Sums wrap nowhere: the engine bounds the number of groups so that they fit int32.
template <typename A, typename W>
struct Tile {
  const A* const* rows = nullptr;
  const Segment* segments = nullptr;
  std::int64_t segment_count = 0;
  const W* panels = nullptr;
  std::int64_t panel_stride = 0;
  const std::int32_t* initial = nullptr;
  std::int64_t initial_stride = 0;  // from row to row
  std::int32_t* sums = nullptr;
  std::int64_t stride = 0;
};

inline constexpr int kMaxRows = 8;
inline constexpr int kMaxVectors = 4;

template <typename A, typename W>
struct ProductKernels {
  using Activation = A;
  using Weight = W;
  int group = 0;    // consecutive elements of the depth that one instruction takes
  int lanes = 0;    // columns of a panel
  int vectors = 0;  // the most panels in one tile
  /// 0: any operands are exact. Else the instruction adds neighbouring products in 16 bits, and the
  /// engine must prove that elements 2i and 2i + 1 of a group never make a sum beyond
  /// [-pair_limit - 1, pair_limit].
  std::int32_t pair_limit = 0;
  /// tile[v - 1][r - 1] computes r rows of v panels; null past what the registers hold.
  void (*tile[kMaxVectors][kMaxRows])(const Tile<A, W>&) = {};

  bool exists() const { return group != 0; }
  int MaxRows(int panels) const {
    int rows = 0;
    while (rows < kMaxRows && tile[panels - 1][rows] != nullptr) ++rows;
    return rows;
  }
};

/// Sums of a depthwise convolution, for i < n (a multiple of the lanes):
///   sums[i] = initial[i] + sum over t < taps and j < 4 of
///       values[offsets[t] + 4i + j] * weights[t * weight_stride + 4i + j]
struct QuadSums {
  const std::uint8_t* values = nullptr;
  const std::int64_t* offsets = nullptr;
  const std::int8_t* weights = nullptr;
  std::int64_t weight_stride = 0;
  std::int64_t taps = 0;
  const std::int32_t* initial = nullptr;
  std::int64_t n = 0;
  std::int32_t* sums = nullptr;
};

/// From a rounded value to a byte as it is held: plus offset, clamped to [low, high].
struct Narrowing {
  std::int16_t offset = 0;
  std::int16_t low = 0, high = 0;
};

/// Rounding of accumulators to 8-bit stored values, in LSB of the output:
///   v = acc * ratio + bias, rounded half to even, plus offset, clamped to [low, high].
/// A lane is doubtful when v is at least `threshold` away from the nearest integer: there binary32
/// cannot tell (requantize.h derives the bound), and the engine decides.
struct Rounding {
  const float* ratio = nullptr;  // one for each element, as the next two
  const float* bias = nullptr;
  const float* threshold = nullptr;
  float least = 0;  // of all thresholds
  Narrowing narrowing;
};

/// Accumulators [rows][columns] and the bytes they become.
struct Sums {
  const std::int32_t* acc = nullptr;
  std::int64_t stride = 0;  // of acc, from row to row
  std::int64_t rows = 0, columns = 0;
  std::uint8_t* out = nullptr;
  std::int64_t out_stride = 0;
};

/// A line of a depthwise convolution, from its quads to stored bytes: element i has the sum of
/// QuadSums, with the weights, the initial sum and the rounding of element i modulo `period`.
struct QuadLine {
  QuadSums sums;  // n: of the whole line, any number; `sums` itself is not used
  Rounding rounding;
  std::int64_t period = 0;  // a multiple of four vectors
  std::uint8_t* out = nullptr;
};
/// An element whose rounding is in doubt, and its accumulator.
struct Doubtful {
  std::int32_t index = 0;
  std::int32_t acc = 0;
};

/// v = (a - a_offset) * a_ratio + (b - b_offset) * b_ratio, then as Rounding.
struct AddRounding {
  std::int32_t a_offset = 0, b_offset = 0;
  float a_ratio = 0, b_ratio = 0;
  float threshold = 0;
  Narrowing narrowing;
};

/// The other arithmetics' way from sums to stored bytes (float32.S4): binary32(acc) * factor, one
/// rounding, then to the nearest integer, ties to even. Every factor is finite.
struct FloatScaling {
  const float* factor = nullptr;  // one for each column
  Narrowing narrowing;
};

/// acc * mantissa / 2^(31 + shift) in integers, 0 <= shift <= 31: rounded once, half up
/// (tflite.S2), or the product half up and the shift half away (tflite.S3).
struct FixedScaling {
  const std::int32_t* mantissa = nullptr;  // one for each column, not negative, as the next
  const std::int32_t* shift = nullptr;
  Narrowing narrowing;
};

struct Kernels {
  std::string_view name;
  /// How this instruction set wants 8-bit values: as int8, else as uint8. The engine holds every
  /// 8-bit quantized value so.
  bool signed_bytes = false;
  std::int32_t lanes = 0;

  ProductKernels<std::uint8_t, std::int8_t> bytes;  // activations as they are held
  ProductKernels<std::int16_t, std::int16_t> words;

  /// Products of pairs as for bytes.pair_limit.
  void (*quad_sums)(const QuadSums&) = nullptr;
  /// Lists the doubtful elements; returns how many there are. Values and weights are readable for
  /// four vectors from any element on.
  std::int64_t (*quad_line)(const QuadLine&, Doubtful* doubtful) = nullptr;
  /// out[4i + j] = rows[j][i] for any n.
  void (*interleave)(const std::uint8_t* const* rows, std::int64_t n, std::uint8_t* out) = nullptr;
  /// out[i] = stored[i] - offset for any n.
  void (*widen)(const std::uint8_t* stored, std::int64_t n, std::int32_t offset,
                std::int16_t* out) = nullptr;

  /// These write stored bytes and list the doubtful lanes: by their index in acc, or in a and b.
  /// They return how many there are. Operands are readable to whole vectors, a and b to four.
  std::int64_t (*requantize)(const Sums& sums, const Rounding& rounding,
                             std::int32_t* doubtful) = nullptr;
  std::int64_t (*add)(const std::uint8_t* a, const std::uint8_t* b, std::int64_t n,
                      const AddRounding& rounding, std::uint8_t* out,
                      std::int32_t* doubtful) = nullptr;

  /// These write stored bytes that nobody doubts. Operands are readable as above.
  void (*scale)(const Sums& sums, const FloatScaling& scaling) = nullptr;
  void (*multiply_once)(const Sums& sums, const FixedScaling& scaling) = nullptr;
  void (*multiply_twice)(const Sums& sums, const FixedScaling& scaling) = nullptr;
  /// values[i] / scale in binary32 to the nearest integer, ties to even; a NaN is 0 (float32.S2).
  /// `values` is readable to four vectors.
  void (*quantize)(const float* values, std::int64_t n, float scale, Narrowing narrowing,
                   std::uint8_t* out) = nullptr;
};

/// Readable bytes after every activation and weight, so that a kernel may take whole groups.
inline constexpr std::int64_t kReadAhead = 64;

/// Plain C++, for any machine.
const Kernels& PortableKernels();

}  // namespace qtx::backend::engine
