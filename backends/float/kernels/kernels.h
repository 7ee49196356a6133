// What one instruction set computes. Every function gives the same bits with each of them: a
// product and a sum are one fused multiply-add, everything else is one IEEE operation.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace qtx::backend::floats {

/// What is done to a sum of products before it is stored, element by element of a row (channel):
/// fma(sum - mean, factor, shift) where there is a mean, then the clamp to [low, high].
struct Epilogue {
  const float* mean = nullptr;  // of each row; nullptr: no batch normalization
  const float* factor = nullptr;
  const float* shift = nullptr;
  bool clamps = false;
  float low = 0, high = 0;

  bool none() const { return mean == nullptr && !clamps; }
  /// That of the rows from `row` on.
  Epilogue From(std::int64_t row) const {
    if (mean == nullptr) return *this;
    return {mean + row, factor + row, shift + row, clamps, low, high};
  }
};

inline constexpr int kMaxRows = 8;     // of a tile
inline constexpr int kMaxVectors = 3;  // of a tile's row
inline constexpr int kMaxLanes = 16;

/// A piece of a matrix product: c[r][j] += sum over k of a[k][r] * b[k][j], k ascending, for all
/// columns of the tile's vectors.
struct Tile {
  const float* a = nullptr;  // [depth][rows]
  const float* b = nullptr;  // [depth][vectors * lanes]
  std::int64_t depth = 0;
  float* c = nullptr;
  std::int64_t stride = 0;         // from one row of c to the next
  const float* initial = nullptr;  // of each row: what its sums begin with
  bool begins = false;             // at `initial`, or at 0 where that is nullptr; else at c
};

/// A window over one channel whose rows and columns were sorted into phases (planes.h): result
/// (y, x) takes plane[offsets[t] + y * pitch + x] for each tap t, in order.
struct WindowRows {
  const float* plane = nullptr;
  const std::int64_t* offsets = nullptr;
  const float* weights = nullptr;  // of each tap; products only
  std::int64_t taps = 0;
  std::int64_t rows = 0, columns = 0, pitch = 0;  // of the results, and of a plane's row
  float* out = nullptr;
  float initial = 0;                   // products only
  const float* divisors = nullptr;     // [rows][columns]; means only
  const Epilogue* epilogue = nullptr;  // products only
};

/// A row of a plane: `before` times the padding, every step-th of `from`, `after` times the
/// padding. Up to kMaxLanes elements of `out` past those may be overwritten.
struct PlaneRow {
  const float* from = nullptr;
  std::int64_t step = 1, count = 0;
  float* out = nullptr;
  std::int64_t before = 0, after = 0;
  float padding = 0;
};

/// Functions of one variable with two parameters.
enum class Unary {
  kClamp,        // x < p ? p : x > q ? q : x
  kLeakyRelu,    // x < 0 ? p * x : x
  kHardSigmoid,  // clamp(fma(p, x, q), 0, 1)
  kHardSwish,    // x * clamp(fma(p, x, q), 0, 1)
  kExp,          // of x - p
  kSigmoid,
  kTanh,
  kSqrt,
  kCount,
};
enum class Binary { kAdd, kSub, kMul, kDiv, kCount };

struct UnaryRun {
  const float* x = nullptr;
  float* y = nullptr;
  std::int64_t n = 0;
  float p = 0, q = 0;
};
/// A step of 0 takes the same element n times.
struct BinaryRun {
  const float* a = nullptr;
  const float* b = nullptr;
  float* y = nullptr;
  std::int64_t n = 0;
  int a_step = 1, b_step = 1;
};

struct Kernels {
  std::string_view name;
  int lanes = 0;
  int rows = 0;                                           // of the largest tile
  int vectors = 0;                                        // of the widest
  void (*tile[kMaxVectors][kMaxRows])(const Tile&) = {};  // [vectors - 1][rows - 1]
  /// The epilogue of a tile's sums in memory.
  void (*finish)(float* c, std::int64_t stride, int rows, int vectors, const Epilogue&) = nullptr;
  void (*fill)(const PlaneRow&) = nullptr;
  void (*products)(const WindowRows&) = nullptr;
  void (*maxima)(const WindowRows&) = nullptr;  // NaN wins
  void (*means)(const WindowRows&) = nullptr;   // the sum of the taps in order, divided
  void (*unary[static_cast<int>(Unary::kCount)])(const UnaryRun&) = {};
  void (*binary[static_cast<int>(Binary::kCount)])(const BinaryRun&) = {};
  /// y = fma(x - mean, factor, shift)
  void (*normalize)(const UnaryRun&, float mean, float factor, float shift) = nullptr;

  /// Columns of the widest tile.
  std::int64_t width() const { return std::int64_t{vectors} * lanes; }
};

/// Those that this processor can run, the best first.
std::span<const Kernels* const> AvailableKernels();

}  // namespace qtx::backend::floats
