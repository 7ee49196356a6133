// The interface to an instruction set: a table of kernels. A kernel multiplies, widens and rounds;
// the engine plans, packs and decides the roundings that a kernel reports as doubtful. Every kernel
// computes the same integers as the portable one. A new instruction set needs one file with its
// vectors (portable.cc is an example) and a row in the backend's table.
#pragma once

#include <cstdint>
#include <string_view>

namespace qtx::backend::engine {

/// `groups` consecutive groups of a row, the first `offset` elements after the row's beginning.
/// They are multiplied with the next `groups` groups of a panel.
struct Segment {
  std::int32_t offset = 0;
  std::int32_t groups = 0;
};

/// A tile of sums, [rows][vectors * lanes]:
///   sums[r * stride + c] = initial[r * initial_stride + c] + sum over the groups g of all segments
///   and j < group of
///       rows[r][g * group + j] * panels[c / lanes * panel_stride + (g * lanes + c % lanes) * group
///       + j]
/// where the segments give the positions of a row's groups, and a panel's groups are contiguous.
/// The engine bounds the number of groups so that no sum overflows int32.
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
  /// 0 if products of all operands are exact. Otherwise the instruction adds products of
  /// neighbouring elements in saturating 16 bits, and the engine must prove that the sum of
  /// products 2i and 2i + 1 of a group is within [-pair_limit - 1, pair_limit].
  std::int32_t pair_limit = 0;
  /// tile[v - 1][r - 1] computes r rows of v panels; nullptr if that takes more registers than
  /// there are.
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

/// Maps a rounded value to a byte of a buffer: adds offset, clamps to [low, high].
struct Narrowing {
  std::int16_t offset = 0;
  std::int16_t low = 0, high = 0;
};

/// Rounding of accumulators to 8-bit stored values, in LSB of the output:
///   v = acc * ratio + bias, rounded half to even, plus offset, clamped to [low, high].
/// A lane is doubtful if v differs from the nearest integer by at least `threshold`, where binary32
/// is not precise enough (requantize.h derives the bound); the engine decides it.
struct Rounding {
  const float* ratio = nullptr;  // one for each element, as bias and threshold
  const float* bias = nullptr;
  const float* threshold = nullptr;
  float least = 0;  // the smallest threshold
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

/// A line of a depthwise convolution, from the sums of QuadSums to stored bytes. Element i has the
/// weights, the initial sum and the rounding of element i modulo `period`.
struct QuadLine {
  QuadSums sums;  // n: of the whole line; `sums.sums` is unused
  Rounding rounding;
  std::int64_t period = 0;  // a multiple of four vectors
  std::uint8_t* out = nullptr;
};
/// An element whose rounding is doubtful, and its accumulator.
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

/// v = (a - a_offset) * (b - b_offset) * ratio, then as Rounding.
struct MulRounding {
  std::int32_t a_offset = 0, b_offset = 0;
  float ratio = 0;
  float threshold = 0;
  Narrowing narrowing;
};

/// v = x * ratio, then as Rounding.
struct FloatRounding {
  float ratio = 0;
  float threshold = 0;
  Narrowing narrowing;
};

/// sum[i] = first[i] * first_weight + second[i] * second_weight.
struct PairSum {
  const std::int32_t* first = nullptr;
  const std::int32_t* second = nullptr;
  std::int32_t first_weight = 1, second_weight = 0;
};

/// Scaling of sums to stored bytes in float32 arithmetic (float32.S4): binary32(acc) * factor,
/// rounded to binary32, then to the nearest integer, ties to even. Every factor is finite.
struct FloatScaling {
  const float* factor = nullptr;  // one for each column
  Narrowing narrowing;
};

/// acc * mantissa / 2^(31 + shift) in integers, 0 <= shift <= 31: rounded once, half up
/// (tflite.S2), or twice: the product half up, the shift half away from zero (tflite.S3).
struct FixedScaling {
  const std::int32_t* mantissa = nullptr;  // one for each column, not negative
  const std::int32_t* shift = nullptr;
  Narrowing narrowing;
};

/// Most rows of a tile, whose sums stay in registers.
template <typename Real>
inline constexpr int kMaxRealRows = sizeof(Real) == sizeof(float) ? 12 : 8;
/// Most columns of a tile, and what their number is a multiple of.
inline constexpr std::int64_t kMaxRealColumns = 48, kRealColumns = 4;

/// Sums of products, from 0 on, in the order of the taps:
///   sums[r * columns + c] = sum over k < taps of x * values[k * columns + c]
/// where x is rows[r][offsets[k]], or, of a tile whose columns have elements of their own,
/// rows[r][offsets[k] + c]. In binary64 each product and each sum is rounded, or the two at once;
/// in binary32 each product and each sum.
template <typename W, typename Real = double>
struct RealTile {
  const Real* rows[kMaxRealRows<Real>] = {};
  int row_count = 0;
  const std::int64_t* offsets = nullptr;
  const W* values = nullptr;
  std::int64_t taps = 0;
  std::int64_t columns = 0;
  Real* sums = nullptr;
};

/// Sums that are within `bound` of what they stand for, and the FLOAT they become:
///   y[i] = sums[i] * factor + addend[i * addend_step], where the step is 0 or 1.
/// Those of binary32 have neither factor nor bound.
template <typename Real>
struct RealSums {
  const Real* sums = nullptr;
  std::int64_t n = 0;
  double factor = 1;
  const float* addend = nullptr;
  std::int64_t addend_step = 0;
  double bound = 0;
  float* y = nullptr;
};

/// y[i] = f(x[i]) for i < n, rounded to binary32. Lists the indices of doubtful elements, which NaN
/// always is, and returns their number.
using FloatFunction = std::int64_t (*)(const float* x, std::int64_t n, float* y,
                                       std::int32_t* doubtful);

struct Kernels {
  std::string_view name;
  /// True if the kernels take 8-bit values as int8, false if as uint8. All 8-bit buffers have that
  /// type.
  bool signed_bytes = false;
  std::int32_t lanes = 0;

  ProductKernels<std::uint8_t, std::int8_t> bytes;  // activations are bytes of a buffer
  ProductKernels<std::int16_t, std::int16_t> words;

  /// bytes.pair_limit applies.
  void (*quad_sums)(const QuadSums&) = nullptr;
  /// Lists the doubtful elements and returns their number. Four vectors of values and weights may
  /// be read from any element on.
  std::int64_t (*quad_line)(const QuadLine&, Doubtful* doubtful) = nullptr;
  /// out[4i + j] = rows[j][i] for any n.
  void (*interleave)(const std::uint8_t* const* rows, std::int64_t n, std::uint8_t* out) = nullptr;
  /// out[i] = stored[i] - offset for any n.
  void (*widen)(const std::uint8_t* stored, std::int64_t n, std::int32_t offset,
                std::int16_t* out) = nullptr;

  /// These write stored bytes, list the indices of doubtful lanes (in acc, or in a and b) and
  /// return their number. They may read operands to the end of the last vector, a and b to the end
  /// of a block of four vectors.
  std::int64_t (*requantize)(const Sums& sums, const Rounding& rounding,
                             std::int32_t* doubtful) = nullptr;
  std::int64_t (*add)(const std::uint8_t* a, const std::uint8_t* b, std::int64_t n,
                      const AddRounding& rounding, std::uint8_t* out,
                      std::int32_t* doubtful) = nullptr;
  std::int64_t (*mul)(const std::uint8_t* a, const std::uint8_t* b, std::int64_t n,
                      const MulRounding& rounding, std::uint8_t* out,
                      std::int32_t* doubtful) = nullptr;

  /// -1 if an element is NaN: then the results mean nothing.
  std::int64_t (*round_floats)(const float* x, std::int64_t n, const FloatRounding& rounding,
                               std::uint8_t* out, std::int32_t* doubtful) = nullptr;
  void (*sum_pair)(const PairSum& pair, std::int64_t n, std::int32_t* sums) = nullptr;

  /// These write stored bytes, none of them doubtful. They may read operands as above.
  void (*scale)(const Sums& sums, const FloatScaling& scaling) = nullptr;
  void (*multiply_once)(const Sums& sums, const FixedScaling& scaling) = nullptr;
  void (*multiply_twice)(const Sums& sums, const FixedScaling& scaling) = nullptr;
  /// y[i] = (x[i] - offset) * scale, rounded to binary32, for any n (float32.S1).
  void (*dequantize)(const std::uint8_t* x, std::int64_t n, std::int32_t offset, float scale,
                     float* y) = nullptr;
  /// values[i] / scale in binary32 rounded to the nearest integer, ties to even; 0 for NaN
  /// (float32.S2). May read `values` to the end of a block of four vectors.
  void (*quantize)(const float* values, std::int64_t n, float scale, Narrowing narrowing,
                   std::uint8_t* out) = nullptr;

  /// out[i] = zero + x[i] * factor in binary32 rounded to the nearest integer, ties away from zero,
  /// within [-127, 127]; zero for x[i] = 0 (tflite.S14). False if an element is NaN.
  bool (*quantize_away)(const float* x, std::int64_t n, float factor, std::int32_t zero,
                        std::uint8_t* out) = nullptr;

  /// y[i] = x[i], no less than low and no more than high; a NaN stays.
  void (*bound)(const float* x, std::int64_t n, float low, float high, float* y) = nullptr;
  /// y[i] = x[i * step] for i < n.
  void (*widen_floats)(const float* x, std::int64_t step, std::int64_t n, double* y) = nullptr;
  /// The greatest magnitude of x[0, n), without NaN; 0 if there is none.
  double (*greatest)(const float* x, std::int64_t n) = nullptr;
  void (*real_tile)(const RealTile<double>& tile) = nullptr;
  void (*real_tile_of_floats)(const RealTile<float>& tile) = nullptr;
  void (*real_tile_of_bytes)(const RealTile<std::int8_t>& tile) = nullptr;
  void (*float_tile)(const RealTile<float, float>& tile) = nullptr;
  /// Of columns that have elements of their own.
  void (*own_real_tile)(const RealTile<double>& tile) = nullptr;
  void (*own_float_tile)(const RealTile<float, float>& tile) = nullptr;
  /// Rounds sums. Lists the indices of doubtful elements, as NaN and infinities are, and returns
  /// their number.
  std::int64_t (*settle)(const RealSums<double>& sums, std::int32_t* doubtful) = nullptr;
  /// Adds addends. NaN alone is doubtful.
  std::int64_t (*settle_floats)(const RealSums<float>& sums, std::int32_t* doubtful) = nullptr;

  /// nearest[i] = x[i] / divisor, no less than low and no more than high, whose magnitudes are at
  /// most 2^20, rounded to an integer, ties to even. False if a quotient lies within 2^-30 of a
  /// tie, or is NaN: then the results mean nothing.
  bool (*nearest_quotients)(const double* x, std::int64_t n, double divisor, double low,
                            double high, std::int32_t* nearest) = nullptr;

  FloatFunction exp = nullptr, sigmoid = nullptr, tanh = nullptr;
  /// y[i] = exp(x[i]) within 2^-48 of itself for i < n and |x[i]| <= 200; beyond, the value at 200.
  void (*exponentials)(const double* x, std::int64_t n, double* y) = nullptr;
};

/// Number of readable bytes after the last activation and weight, so that kernels can read whole
/// groups.
inline constexpr std::int64_t kReadAhead = 64;

/// Plain C++, for any machine.
const Kernels& PortableKernels();

}  // namespace qtx::backend::engine
