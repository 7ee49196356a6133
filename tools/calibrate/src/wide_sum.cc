#include "wide_sum.h"

#include "exact_sum.h"

namespace qtx::calibrate {

template <std::size_t kLimbs, int kLowest>
bool WideSum<kLimbs, kLowest>::Add(const format::ExactSum& sum) {
  const auto bytes = static_cast<std::int64_t>(sum.integer.size());
  if (bytes == 0) return true;
  const std::int64_t at = std::int64_t{sum.exponent} - kLowest;
  // One spare bit keeps a hostile file from overflowing the highest limb.
  if (at < 0 || at + 8 * bytes > static_cast<std::int64_t>(32 * kLimbs) - 1) return false;
  for (std::int64_t first = 0; first < bytes; first += 4) {
    std::int64_t word = 0;
    for (std::int64_t i = std::min(first + 3, bytes - 1); i >= first; --i) {
      const auto byte = static_cast<unsigned char>(sum.integer[static_cast<std::size_t>(i)]);
      // The last byte has the sign; all others are unsigned.
      const bool signed_byte = i == bytes - 1;
      word = word * 256 + (signed_byte ? static_cast<signed char>(byte) : std::int64_t{byte});
    }
    const auto position = static_cast<std::size_t>(at + 8 * first);
    const __int128 shifted = static_cast<__int128>(word) << (position % 32);
    limbs_[position / 32] += static_cast<std::uint32_t>(shifted);
    // Beyond the highest limb there is nothing but the sign, which that limb has.
    if (position / 32 + 1 < kLimbs) {
      limbs_[position / 32 + 1] += static_cast<std::int64_t>(shifted >> 32);
    } else {
      limbs_[position / 32] += static_cast<std::int64_t>(shifted >> 32) << 32;
    }
  }
  Normalise();
  return true;
}

template <std::size_t kLimbs, int kLowest>
format::ExactSum WideSum<kLimbs, kLowest>::ToExact() const {
  WideSum copy = *this;
  copy.Normalise();
  Integer total;
  mpz_set_si(total.get(), copy.limbs_[kLimbs - 1]);
  for (std::size_t i = kLimbs - 1; i-- > 0;) {
    mpz_mul_2exp(total.get(), total.get(), 32);
    mpz_add_ui(total.get(), total.get(), static_cast<unsigned long>(copy.limbs_[i]));
  }
  return ToExactSum(total, kLowest);
}

template class WideSum<12, -149>;
template class WideSum<20, -298>;

}  // namespace qtx::calibrate
