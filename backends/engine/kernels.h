// What an instruction set supplies. The engine plans, packs and decides doubtful roundings; a
// kernel only multiplies, widens and rounds what is certain. Every kernel gives the same integers
// as the portable one.
#pragma once

#include <cstdint>
#include <string_view>

namespace qtx::backend::engine {

/// The inner product of packed panels, over operands of type T:
///   a: [groups][rows][group]        `rows` output rows (at most max_rows)
///   b: [groups][columns][group]     `columns` output columns
///   out[r * stride + c] = sum over groups and within them of a * b, all of [rows][columns]
/// Sums wrap nowhere: the engine bounds the number of groups so that they fit int32.
template <typename T>
struct GemmKernel {
  int max_rows = 0;
  int columns = 0;
  int group = 0;  // consecutive k that one instruction takes
  void (*multiply)(const T* a, const T* b, std::int64_t groups, int rows, std::int32_t* out,
                   std::int64_t stride) = nullptr;
  /// Interleaves `group` rows of `n` values (n a multiple of columns) into b panels: value c of row
  /// g goes to out[(c / columns) * panel_stride + (c % columns) * group + g].
  void (*interleave)(const T* const* rows, std::int64_t n, std::int64_t panel_stride,
                     T* out) = nullptr;
  /// 8-bit stored values as operands. int16: stored - offset. int8: stored - (is_signed ? 0 : 128),
  /// the offset being left to the engine's correction.
  void (*load)(const std::uint8_t* stored, std::int64_t n, bool is_signed, std::int32_t offset,
               T* out) = nullptr;
};

/// Rounding of accumulators to 8-bit stored values, in LSB of the output:
///   v = (acc + correction) * ratio + bias, clamped to [low, high], rounded half to even, plus
///   offset.
/// A lane is doubtful when v is at least `threshold` away from the nearest integer: there binary32
/// cannot tell (requantize.h derives the bound), and the engine decides.
struct Rounding {
  const std::int32_t* correction = nullptr;
  const float* ratio = nullptr;
  const float* bias = nullptr;
  const float* threshold = nullptr;
  std::int64_t step = 0;  // 0: the four are one value for the whole row; 1: one for each element
  float low = 0, high = 0;
  std::int32_t offset = 0;
};

/// v = (a - a_offset) * a_ratio + (b - b_offset) * b_ratio, then as Rounding.
struct AddRounding {
  bool a_signed = false, b_signed = false;
  std::int32_t a_offset = 0, b_offset = 0;
  float a_ratio = 0, b_ratio = 0;
  float threshold = 0;
  float low = 0, high = 0;
  std::int32_t offset = 0;
};

struct Kernels {
  std::string_view name;
  GemmKernel<std::int16_t> wide;
  GemmKernel<std::int8_t> narrow;  // multiply is null where the instruction set has none

  /// One row of a depthwise convolution: out[i] = sum over t of weights[t] * taps[t][i * stride].
  /// Reads at most kReadAhead values past the last one used of each tap.
  void (*depthwise)(const std::int16_t* const* taps, const std::int16_t* weights, int tap_count,
                    std::int64_t n, std::int64_t stride, std::int32_t* out) = nullptr;

  /// Writes n stored bytes, and the indices of doubtful lanes; returns how many there are.
  std::int64_t (*requantize)(const std::int32_t* acc, std::int64_t n, const Rounding& rounding,
                             std::uint8_t* out, std::int32_t* doubtful) = nullptr;
  std::int64_t (*add)(const std::uint8_t* a, const std::uint8_t* b, std::int64_t n,
                      const AddRounding& rounding, std::uint8_t* out,
                      std::int32_t* doubtful) = nullptr;
};

/// Slack after every operand plane, so that a kernel may load whole vectors.
inline constexpr std::int64_t kReadAhead = 64;

/// Plain C++, for any machine.
const Kernels& PortableKernels();

}  // namespace qtx::backend::engine
