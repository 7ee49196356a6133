// A superaccumulator: exact sums of integers times powers of two in a wide fixed-point number.
// Source: R. M. Neal, "Fast exact summation using small and large superaccumulators" (2015): limbs
// of 32 bits in 64-bit words defer carries.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "qtx/format/statistics.h"

namespace qtx::calibrate {

/// Limb i counts 2^(lowest + 32 i). REQUIRES of users: Normalise after at most 2^30 additions.
template <std::size_t kLimbs, int kLowest>
class WideSum {
 public:
  /// Adds value * 2^(kLowest + at), |value| < 2^31.
  void AddSmall(std::int64_t value, unsigned at) {
    const std::int64_t shifted = value << (at % 32);
    std::int64_t* const limb = &limbs_[at / 32];
    limb[0] += static_cast<std::uint32_t>(shifted);
    limb[1] += shifted >> 32;
  }
  /// The same for |value| < 2^95.
  void Add(__int128 value, unsigned at) {
    const __int128 shifted = value << (at % 32);
    std::int64_t* const limb = &limbs_[at / 32];
    limb[0] += static_cast<std::uint32_t>(shifted);
    limb[1] += static_cast<std::uint32_t>(shifted >> 32);
    limb[2] += static_cast<std::int64_t>(shifted >> 64);
  }
  /// REQUIRES: both were normalised within 2^30 additions.
  void Add(const WideSum& other) {
    for (std::size_t i = 0; i < kLimbs; ++i) limbs_[i] += other.limbs_[i];
  }
  /// False when `sum` has bits below 2^kLowest, or more than fit.
  bool Add(const format::ExactSum& sum);
  /// Brings all limbs but the highest to 0 .. 2^32 - 1.
  void Normalise() {
    std::int64_t carry = 0;
    for (std::size_t i = 0; i + 1 < kLimbs; ++i) {
      const std::int64_t limb = limbs_[i] + carry;
      limbs_[i] = limb & 0xFFFFFFFF;
      carry = limb >> 32;
    }
    limbs_[kLimbs - 1] += carry;
  }
  /// The canonical form of statistics.C6.
  format::ExactSum ToExact() const;

 private:
  std::array<std::int64_t, kLimbs> limbs_{};
};

// A binary32 is m * 2^(e - 149), m < 2^24, e in 0 .. 253; its square m^2 * 2^(2e - 298). With 2^64
// of them a sum has 24 + 253 + 64 = 341 bits and a sign, one of squares 48 + 506 + 64 = 618. The
// highest limb holds 64 bits; Add touches two limbs above the one where a term begins.
using SumOfFloats = WideSum<12, -149>;
using SumOfSquares = WideSum<20, -298>;

}  // namespace qtx::calibrate
