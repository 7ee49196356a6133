#include "float_sums.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace qtx::calibrate {
namespace {

constexpr std::uint32_t kMagnitude = 0x7FFFFFFF;
constexpr std::uint32_t kMantissa = 0x007FFFFF;
constexpr std::size_t kNotFinite = 255;  // the exponent of NaN and infinities

struct Parts {
  std::size_t exponent;   // as stored, 0 .. 255
  std::int64_t mantissa;  // with its hidden bit and the sign
};

// Subnormals have exponent 0, no hidden bit, and the weight of exponent 1.
inline Parts Split(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t exponent = (bits >> 23) & 0xFF;
  const auto magnitude =
      static_cast<std::int64_t>((bits & kMantissa) | (std::uint32_t{exponent != 0} << 23));
  const std::int64_t sign = -static_cast<std::int64_t>(bits >> 31);
  return {exponent, (magnitude ^ sign) - sign};
}

inline unsigned Weight(std::size_t exponent) {
  return static_cast<unsigned>(exponent == 0 ? 0 : exponent - 1);
}

constexpr float kBeyond = std::numeric_limits<float>::infinity();
constexpr std::size_t kBlock = 4096;

// Maps floats to integers of the same order, NaN beyond the infinities, because compilers vectorize
// the minimum of integers but not of floats.
inline std::int32_t KeyOf(float value) {
  const auto bits = std::bit_cast<std::int32_t>(value);
  return bits ^ ((bits >> 31) & 0x7FFFFFFF);
}
inline float FromKey(std::int32_t key) {
  return std::bit_cast<float>(key ^ ((key >> 31) & 0x7FFFFFFF));
}

// For values that are not all finite.
void AddExtremes(std::span<const float> values, Extremes& found) {
  for (const float value : values) {
    if (std::isnan(value)) {
      ++found.nan_count;
    } else if (std::isinf(value)) {
      ++found.infinity_count;
    } else {
      found.min = std::min(found.min, value);
      found.max = std::max(found.max, value);
      ++found.count;
    }
  }
}

}  // namespace

void ExponentBins::Fold(std::size_t lowest, std::size_t highest, FloatSums& to) {
  to.Reserve(256);
  for (std::size_t e = lowest; e <= highest; ++e) {
    __int128 sum = 0, sum_of_squares = 0;
    for (Bin& bin : bins_[e]) {
      sum += bin.sum;
      sum_of_squares += bin.sum_of_squares;
      bin = {};
    }
    if (sum_of_squares == 0 || e == kNotFinite) continue;
    to.sum.Add(sum, Weight(e));
    to.sum_of_squares.Add(sum_of_squares, 2 * Weight(e));
  }
}

void ExponentBins::Add(std::span<const float> values, const Extremes& extremes, FloatSums& to) {
  if (extremes.lowest > extremes.highest) return;  // nothing but zeros
  while (!values.empty()) {
    const std::span<const float> block = values.first(std::min(values.size(), kMaxBlock));
    values = values.subspan(block.size());
    std::size_t i = 0;
    for (; i + kSets <= block.size(); i += kSets) {
      for (std::size_t set = 0; set < kSets; ++set) {
        const Parts parts = Split(block[i + set]);
        Bin& bin = bins_[parts.exponent][set];
        bin.sum += parts.mantissa;
        bin.sum_of_squares += static_cast<std::uint64_t>(parts.mantissa * parts.mantissa);
      }
    }
    Fold(extremes.lowest, extremes.highest, to);
    AddFew(block.subspan(i), to);
  }
}

void AddFew(std::span<const float> values, FloatSums& to) {
  to.Reserve(static_cast<std::uint32_t>(values.size()));
  for (const float value : values) {
    const Parts parts = Split(value);
    if (parts.exponent == kNotFinite) continue;
    to.sum.AddSmall(parts.mantissa, Weight(parts.exponent));
    to.sum_of_squares.Add(static_cast<__int128>(parts.mantissa) * parts.mantissa,
                          2 * Weight(parts.exponent));
  }
}

Extremes FindExtremes(std::span<const float> values) {
  Extremes found{.min = kBeyond, .max = -kBeyond};
  // Magnitude minus one as an unsigned number, so that zero is the largest, mapped to signed, for
  // which all vector sets have a minimum.
  constexpr std::uint32_t kFlip = 0x80000000;
  auto smallest = std::numeric_limits<std::int32_t>::max();
  std::int32_t largest = 0;
  while (!values.empty()) {
    const std::span<const float> block = values.first(std::min(values.size(), kBlock));
    values = values.subspan(block.size());
    std::int32_t low = KeyOf(kBeyond), high = KeyOf(-kBeyond);
    for (const float value : block) {
      const std::int32_t key = KeyOf(value);
      low = std::min(low, key);
      high = std::max(high, key);
      const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(value) & kMagnitude;
      smallest = std::min(smallest, static_cast<std::int32_t>((magnitude - 1) ^ kFlip));
      largest = std::max(largest, static_cast<std::int32_t>(magnitude));
    }
    if (low > KeyOf(-kBeyond) && high < KeyOf(kBeyond)) {
      found.min = std::min(found.min, FromKey(low));
      found.max = std::max(found.max, FromKey(high));
      found.count += block.size();
    } else {
      AddExtremes(block, found);
    }
  }
  if (largest > 0) {
    found.lowest = ((static_cast<std::uint32_t>(smallest) ^ kFlip) + 1) >> 23;
    found.highest = static_cast<std::uint32_t>(largest) >> 23;
  }
  return found;
}

}  // namespace qtx::calibrate
