// Sums and extremes of the values of one element of the axis, and the loops that update them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "wide_sum.h"

namespace qtx::calibrate {

/// Exact sums of finite binary32 values.
struct FloatSums {
  SumOfFloats sum;
  SumOfSquares sum_of_squares;
  std::uint32_t pending = 0;  // additions since the limbs were normalised

  /// Prepares for `additions` more additions.  REQUIRES: at most 2^29.
  void Reserve(std::uint32_t additions) {
    if (pending + additions > kMaxPending) Normalise();
    pending += additions;
  }
  void Normalise() {
    sum.Normalise();
    sum_of_squares.Normalise();
    pending = 0;
  }
  void Add(const FloatSums& other) {
    // Normalised limbs count as one addition, so the sum of two stays within Reserve's bound.
    FloatSums copy = other;
    copy.Normalise();
    Reserve(1);
    sum.Add(copy.sum);
    sum_of_squares.Add(copy.sum_of_squares);
  }

  static constexpr std::uint32_t kMaxPending = 1U << 30;
};

/// Extremes and counts of finite values.
struct Extremes {
  float min = 0;  // +infinity if there are no values
  float max = 0;
  std::uint64_t count = 0;
  std::uint64_t nan_count = 0;
  std::uint64_t infinity_count = 0;
  // Stored exponents of values other than zero, NaN and infinities included: lowest to highest.
  std::uint32_t lowest = 255;
  std::uint32_t highest = 0;
};
Extremes FindExtremes(std::span<const float> values);

/// Sums of mantissas and of their squares, one for each exponent: a step is one addition to each.
/// Sets of them take turns, because the next addition to one place waits until the last one has
/// been stored.
class ExponentBins {
 public:
  /// `extremes` are those of `values`. Skips NaN and infinities.
  void Add(std::span<const float> values, const Extremes& extremes, FloatSums& to);

 private:
  static constexpr std::size_t kSets = 4;
  // A square is below 2^48, so 2^16 of them fit 64 bits.
  static constexpr std::size_t kMaxBlock = kSets << 16;

  struct Bin {
    std::int64_t sum = 0;
    std::uint64_t sum_of_squares = 0;
  };
  void Fold(std::size_t lowest, std::size_t highest, FloatSums& to);

  std::array<std::array<Bin, kSets>, 256> bins_{};  // zero between calls
};

/// The same without bins, faster for fewer than kFewValues.
inline constexpr std::size_t kFewValues = 16;
void AddFew(std::span<const float> values, FloatSums& to);

}  // namespace qtx::calibrate
