#include "engine/exact.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <limits>

namespace qtx::backend::engine {
namespace {

// A sum held exactly: nonoverlapping components of increasing magnitude.
class Expansion {
 public:
  void Add(const Term& term) {
    const double high = term.integer * term.scale;
    // The rounding error of a product is itself a double (no underflow: see Term).
    Grow(std::fma(term.integer, term.scale, -high));
    Grow(high);
  }

  int Sign() const {
    // Of nonoverlapping components the largest nonzero one outweighs all below it.
    for (std::size_t i = size_; i-- > 0;) {
      if (parts_[i] != 0) return parts_[i] > 0 ? 1 : -1;
    }
    return 0;
  }

 private:
  // Shewchuk's Grow-Expansion: adds one double, carrying each rounding error down.
  void Grow(double value) {
    double carry = value;
    for (std::size_t i = 0; i < size_; ++i) {
      const double sum = carry + parts_[i];
      const double virtual_part = sum - carry;  // Knuth's TwoSum
      const double error = (carry - (sum - virtual_part)) + (parts_[i] - virtual_part);
      parts_[i] = error;
      carry = sum;
    }
    parts_[size_++] = carry;
  }

  std::array<double, 2 * kMaxTerms> parts_{};
  std::size_t size_ = 0;
};

// Whether the value, rounded half to even, is at most k: it is below k + 1/2, or there with k even.
bool RoundsToAtMost(const Quotient& value, std::int64_t k) {
  Expansion difference;
  for (const Term& term : value.terms) difference.Add(term);
  // (k + 1/2) * unit = (2k + 1) * (unit / 2), both factors exact.
  difference.Add({-static_cast<double>((2 * k + 1) * value.divisor), value.unit / 2});
  const int sign = difference.Sign();
  return sign < 0 || (sign == 0 && k % 2 == 0);
}

// A binary32 as a double; infinity as the value one step past the largest, which is where it rounds
// from.
double Widened(float value) {
  if (std::isinf(value)) return std::copysign(std::ldexp(1.0, 128), value);
  return value;
}

bool LastBitIsOdd(float value) {
  if (std::isinf(value)) return false;  // 2^128 has a zero last bit
  int exponent = 0;
  const float fraction = std::frexp(value, &exponent);
  // Bits below the last one of a subnormal do not exist: its unit is 2^-149.
  const int bits = std::min(24, exponent + 149);
  return std::fmod(std::ldexp(fraction, bits), 2.0F) != 0.0F;
}

}  // namespace

int SignOfSum(std::span<const Term> terms) {
  assert(terms.size() <= kMaxTerms);
  Expansion sum;
  for (const Term& term : terms) sum.Add(term);
  return sum.Sign();
}

std::int64_t RoundHalfEvenExactly(const Quotient& value, format::IntegerRange range,
                                  std::int64_t guess) {
  assert(value.terms.size() < kMaxTerms);
  std::int64_t low = range.min;
  std::int64_t high = range.max;
  const auto test = [&](std::int64_t k) {
    if (k < low || k >= high) return;
    if (RoundsToAtMost(value, k)) {
      high = k;
    } else {
      low = k + 1;
    }
  };
  // The estimate is nearly always right or one off: three tests settle it, bisection the rest.
  for (const std::int64_t k : {guess, guess - 1, guess + 1}) test(k);
  while (low < high) test(low + (high - low) / 2);
  return low;
}

// Error of the estimate. With u = 2^-53, each term/unit is computed as fl(fl(i*s)/fl(d*unit)),
// where d*unit is off by at most u: relative error <= 3.01u each; n <= 8 additions add at most
// n*u*(sum of magnitudes). Together below 12u*S < 2^-49 * S with S the sum of the terms' computed
// magnitudes.
std::int64_t RoundHalfEven(const Quotient& value, format::IntegerRange range) {
  const double unit = static_cast<double>(value.divisor) * value.unit;
  double estimate = 0;
  double magnitude = 0;
  for (const Term& term : value.terms) {
    const double part = term.integer * term.scale / unit;
    estimate += part;
    magnitude += std::fabs(part);
  }
  const double error = std::ldexp(magnitude, -49);
  const double clamped =
      std::clamp(estimate, static_cast<double>(range.min), static_cast<double>(range.max));
  const double nearest = std::nearbyint(clamped);
  if (std::fabs(clamped - nearest) < 0.5 - error) return static_cast<std::int64_t>(nearest);
  return RoundHalfEvenExactly(value, range, static_cast<std::int64_t>(nearest));
}

float RoundToFloat(std::span<const Term> terms) {
  assert(terms.size() < kMaxTerms);
  Expansion sum;
  double estimate = 0;
  for (const Term& term : terms) {
    sum.Add(term);
    estimate += term.integer * term.scale;
  }
  if (sum.Sign() == 0) return 0.0F;
  auto result = static_cast<float>(estimate);
  // Cancellation may leave the estimate anywhere near; each step moves to the neighbour the exact
  // sum is nearer to, or as near and even. Midpoints of neighbouring binary32 are doubles.
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float direction : {infinity, -infinity}) {
    while (result != direction) {
      const float neighbour = std::nextafter(result, direction);
      Expansion beyond = sum;
      beyond.Add({-0.5, Widened(result) + Widened(neighbour)});
      const int side = direction > 0 ? beyond.Sign() : -beyond.Sign();
      if (side < 0 || (side == 0 && !LastBitIsOdd(result))) break;
      result = neighbour;
    }
  }
  return result;
}

}  // namespace qtx::backend::engine
