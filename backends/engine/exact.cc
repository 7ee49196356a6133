#include "engine/exact.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "qtx/format/tensor.h"

namespace qtx::backend::engine {
namespace {

// An exact sum: nonoverlapping, nonadjacent, nonzero components of increasing magnitude
// (Shewchuk's theorem 10, with round to even).
class Expansion {
 public:
  explicit Expansion(std::span<const Term> terms) {
    for (const Term& term : terms) Add(term);
  }
  Expansion(const Expansion& other) : size_(other.size_) {
    std::copy_n(other.parts_.begin(), size_, parts_.begin());
  }
  Expansion& operator=(const Expansion&) = delete;

  void Add(const Term& term) {
    const DoubleDouble value = ValueOf(term);
    if (value.low != 0) Grow(value.low);
    Grow(value.high);
  }

  /// The sign is that of the largest component, which exceeds the sum of all smaller ones.
  int Sign() const { return size_ == 0 ? 0 : parts_[size_ - 1] > 0 ? 1 : -1; }

  /// The sum within 4 * 2^-53 relative: below a component c of a nonadjacent expansion lies at most
  /// |c| / 2, so from the smallest on each partial sum is at most half the next, and so is its
  /// rounding error.
  double Estimate() const {
    double sum = 0;
    for (std::size_t i = 0; i < size_; ++i) sum += parts_[i];
    return sum;
  }

 private:
  // Shewchuk's Grow-Expansion: adds one double, carrying each rounding error down; zeros go.
  void Grow(double value) {
    double carry = value;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < size_; ++i) {
      const DoubleDouble sum = TwoSum(carry, parts_[i]);
      if (sum.low != 0) parts_[kept++] = sum.low;
      carry = sum.high;
    }
    if (carry != 0) parts_[kept++] = carry;
    size_ = kept;
  }

  // Components do not overlap, so each has a bit position of binary64 (2^-1074 to 2^1023) of its
  // own. Left uninitialised: most sums have two or three.
  std::array<double, 1074 + 1024> parts_;
  std::size_t size_ = 0;
};

// Adds factor * count * unit, where factor * count may take more than 53 bits.
void AddMultiple(double factor, std::int64_t count, double unit, Expansion& sum) {
  const DoubleDouble product = ValueOf({factor, static_cast<double>(count)});
  sum.Add({product.high, unit});
  if (product.low != 0) sum.Add({product.low, unit});
}

// Whether the value, rounded half to even, is at most k: it is below k + 1/2, or there with k even.
bool RoundsToAtMost(const Expansion& sum, const Quotient& value, std::int64_t k) {
  Expansion difference = sum;
  // (k + 1/2) * unit = (2k + 1) * (unit / 2), both factors exact.
  AddMultiple(-static_cast<double>(2 * k + 1), value.divisor, value.unit / 2, difference);
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

/// A sum of terms over `unit` in binary64, and a bound on its error. With u = 2^-53, each term/unit
/// is computed as fl(fl(i*s)/unit), where the unit is off by at most u: relative error <= 3.01u
/// each; n additions add at most n*u*(sum of magnitudes). Together below (n + 8) u S with S the sum
/// of the terms' computed magnitudes.
struct Estimated {
  double value = 0, error = 0;
};
Estimated Estimate(std::span<const Term> terms, double unit) {
  Estimated sum;
  double magnitude = 0;
  for (const Term& term : terms) {
    const double part = term.integer * term.scale / unit;
    sum.value += part;
    magnitude += std::fabs(part);
  }
  sum.error = magnitude * static_cast<double>(terms.size() + 8) * 0x1p-53;
  return sum;
}

}  // namespace

DoubleDouble ValueOf(const Term& term) {
  const double high = term.integer * term.scale;
  if (!std::isfinite(high)) return {high, 0};
  // The rounding error of a product is itself a double (no underflow: see Term).
  return {high, std::fma(term.integer, term.scale, -high)};
}

bool Less(const Term& a, const Term& b) {
  const DoubleDouble left = ValueOf(a);
  const DoubleDouble right = ValueOf(b);
  return left.high < right.high || (left.high == right.high && left.low < right.low);
}

void AppendProduct(const Term& a, const Term& b, float factor, std::vector<Term>& terms) {
  // The integers' product may pass 53 bits, two scales never do, with a factor they may.
  const DoubleDouble integer = ValueOf({a.integer, b.integer});
  const DoubleDouble scale = ValueOf({a.scale * b.scale, static_cast<double>(factor)});
  const double product = integer.high * scale.high;
  if (product == 0) return;
  // Most sums of integers stay one term: 1 stands for a rest where there is none to add to.
  // A real that is infinite has it in its scale: 0 * inf + 1 * inf is no 1 * inf.
  const bool same = !terms.empty() && std::isfinite(scale.high) && terms.back().scale == scale.high;
  const DoubleDouble sum =
      same ? TwoSum(terms.back().integer, integer.high) : DoubleDouble{integer.high, 1};
  if (sum.low == 0) {
    terms.back().integer = sum.high;
  } else {
    terms.push_back({integer.high, scale.high});
  }
  if (!std::isfinite(product)) return;
  if (integer.low != 0) terms.push_back({integer.low, scale.high});
  if (scale.low != 0) terms.push_back({integer.high, scale.low});
  if (integer.low != 0 && scale.low != 0) terms.push_back({integer.low, scale.low});
}

int SignOfSum(std::span<const Term> terms) { return Expansion(terms).Sign(); }

std::int64_t RoundHalfEvenExactly(const Quotient& value, format::IntegerRange range,
                                  std::int64_t guess) {
  const Expansion sum(value.terms);
  std::int64_t low = range.min;
  std::int64_t high = range.max;
  const auto test = [&](std::int64_t k) {
    if (k < low || k >= high) return;
    if (RoundsToAtMost(sum, value, k)) {
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

std::int64_t RoundHalfEven(const Quotient& value, format::IntegerRange range) {
  const auto [estimate, error] =
      Estimate(value.terms, static_cast<double>(value.divisor) * value.unit);
  const double clamped =
      std::clamp(estimate, static_cast<double>(range.min), static_cast<double>(range.max));
  const double nearest = std::nearbyint(clamped);
  if (std::fabs(clamped - nearest) < 0.5 - error) return static_cast<std::int64_t>(nearest);
  return RoundHalfEvenExactly(value, range, static_cast<std::int64_t>(nearest));
}

// A midpoint, of 20 bits times 24, is a binary64; close to it `high` less the midpoint is exact
// (Sterbenz), so that the sign of what is beyond it is certain.
std::int64_t RoundPairHalfEven(const DoubleDouble& real, double unit, format::IntegerRange range) {
  const auto low = static_cast<double>(range.min);
  const auto high = static_cast<double>(range.max);
  const double steps = real.high / unit;
  if (steps <= low - 1) return range.min;
  if (steps >= high + 1) return range.max;
  const double below = std::floor(steps);
  double nearest = std::nearbyint(steps);
  if (std::fabs(steps - below - 0.5) < 0x1p-20) {
    const double beyond = (real.high - (below + 0.5) * unit) + real.low;
    const bool up = beyond != 0 ? beyond > 0 : std::fmod(below, 2) != 0;
    nearest = up ? below + 1 : below;
  }
  return static_cast<std::int64_t>(std::clamp(nearest, low, high));
}

float RoundToFloat(std::span<const Term> terms, std::int64_t divisor) {
  const auto count = static_cast<double>(divisor);
  const auto [estimate, error] = Estimate(terms, count);
  // Rounding is monotonic: if both ends round alike, so does the value. The error is doubled
  // because the ends are rounded, too.
  const auto low = static_cast<float>(estimate - 2 * error);
  if (error > 0 && low == static_cast<float>(estimate + 2 * error)) return low;
  const Expansion sum(terms);
  if (sum.Sign() == 0) return 0.0F;
  auto result = static_cast<float>(sum.Estimate() / count);
  // A step or two to the neighbour the exact sum is nearer to, or as near and even. Midpoints of
  // neighbouring binary32 are doubles.
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float direction : {infinity, -infinity}) {
    while (result != direction) {
      const float neighbour = std::nextafter(result, direction);
      Expansion beyond = sum;
      beyond.Add({-0.5 * count, Widened(result) + Widened(neighbour)});
      const int side = direction > 0 ? beyond.Sign() : -beyond.Sign();
      if (side < 0 || (side == 0 && !LastBitIsOdd(result))) break;
      result = neighbour;
    }
  }
  return result;
}

std::uint32_t RoundToSmallFloat(const Quotient& value, format::ElementType storage) {
  const Expansion sum(value.terms);
  const int sign = sum.Sign();
  const auto decode = [storage](std::uint32_t code) {
    return format::DecodeSmallFloat(storage, code);
  };
  // Sign of |sum| - midpoint(code, code + 1): both values and half their sum are short doubles.
  const auto side = [&](std::uint32_t code) {
    Expansion beyond = sum;
    AddMultiple(-sign * (decode(code) + decode(code + 1)) / 2, value.divisor, value.unit, beyond);
    return sign * beyond.Sign();
  };
  // Magnitude codes are in the order of their values, and neighbours differ in their last bit.
  const std::uint32_t largest =
      format::EncodeSmallFloat(storage, std::numeric_limits<double>::infinity());
  const double unit = static_cast<double>(value.divisor) * value.unit;
  std::uint32_t code = format::EncodeSmallFloat(storage, std::fabs(sum.Estimate() / unit));
  const auto rises = [&] {
    const int beyond = side(code);
    return beyond > 0 || (beyond == 0 && code % 2 != 0);
  };
  const auto falls = [&] {
    const int beyond = side(code - 1);
    return beyond < 0 || (beyond == 0 && code % 2 != 0);
  };
  while (code < largest && rises()) ++code;
  while (code > 0 && falls()) --code;
  return sign < 0 ? format::EncodeSmallFloat(storage, -decode(code)) : code;
}

}  // namespace qtx::backend::engine
