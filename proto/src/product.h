// An exact product of binary32 factors.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace qtx::format {

// The exact product of at most four finite factors, rounded once to a binary32, ties to even.
// A zero has the sign of the product: where no factor is negative, +0.
class Product {
 public:
  void Times(float factor) {
    int exponent = 0;
    const float fraction = std::frexp(std::fabs(factor), &exponent);
    magnitude_ *= static_cast<unsigned __int128>(std::ldexp(fraction, 24));
    exponent_ += exponent - 24;
    negative_ ^= std::signbit(factor);
  }
  float Rounded() const {
    if (magnitude_ == 0) return negative_ ? -0.0F : 0.0F;
    const auto high = static_cast<std::uint64_t>(magnitude_ >> 64U);
    const auto width =
        static_cast<int>(high != 0 ? 64 + std::bit_width(high)
                                   : std::bit_width(static_cast<std::uint64_t>(magnitude_)));
    const int shift = std::max(0, width - 53);
    auto kept = static_cast<std::uint64_t>(magnitude_ >> static_cast<unsigned>(shift));
    // To odd: rounded again to 24 bits or fewer, it is as if it had been rounded once (Boldo and
    // Melquiond, 2008). The least product, 2^-596, is a normal binary64.
    if ((static_cast<unsigned __int128>(kept) << static_cast<unsigned>(shift)) != magnitude_) {
      kept |= 1U;
    }
    const double odd = std::ldexp(static_cast<double>(kept), exponent_ + shift);
    return static_cast<float>(negative_ ? -odd : odd);
  }

 private:
  unsigned __int128 magnitude_ = 1;
  int exponent_ = 0;
  bool negative_ = false;
};

}  // namespace qtx::format
