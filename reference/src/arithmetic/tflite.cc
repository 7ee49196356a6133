// Coordinate kFixed31 and the integer averages of stored values, as TFLite's kernels compute them.
#include <algorithm>
#include <cmath>
#include <limits>

#include "arithmetic/round.h"

namespace qtx::reference {
namespace {

constexpr std::int64_t kInt32Max = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kInt32Min = std::numeric_limits<std::int32_t>::min();

// `below` or the next integer: the floor of a quotient whose remainder lies on `side` of one half.
std::int64_t Settle(std::int64_t below, std::int64_t side, bool positive, TieRule tie) {
  if (tie == TieRule::kTowardZero) return positive ? below : below + 1;
  if (side != 0) return side > 0 ? below + 1 : below;
  const bool up =
      tie == TieRule::kHalfUp || (tie == TieRule::kHalfEven ? below % 2 != 0 : positive);
  return up ? below + 1 : below;
}

}  // namespace

std::int64_t RoundQuotient(std::int64_t sum, std::int64_t count, TieRule tie) {
  const std::int64_t rest = ((sum % count) + count) % count;
  if (rest == 0) return sum / count;
  return Settle((sum - rest) / count, 2 * rest - count, sum > 0, tie);
}

std::int64_t RoundShift(std::int64_t value, int shift, TieRule tie) {
  const std::int64_t count = std::int64_t{1} << shift;
  const std::int64_t rest = value & (count - 1);
  if (rest == 0) return value >> shift;
  return Settle(value >> shift, 2 * rest - count, value > 0, tie);
}

FixedMultiplier ToFixed(double factor) {
  int exponent = 0;
  const double fraction = std::frexp(factor, &exponent);  // in [0.5, 1)
  auto mantissa = static_cast<std::int64_t>(std::round(fraction * 0x1p31));
  if (mantissa == std::int64_t{1} << 31) {
    mantissa /= 2;
    ++exponent;
  }
  if (exponent < -31) return {};
  // 2^30 and more cannot occur with stored results; a larger factor saturates to the largest one.
  if (exponent > 30) return {static_cast<std::int32_t>(kInt32Max), 30};
  return {static_cast<std::int32_t>(mantissa), exponent};
}

std::int64_t MultiplyFixed(std::int64_t value, FixedMultiplier multiplier,
                           RequantizeRecipe::Rounds rounds, TieRule tie) {
  const std::int64_t x = std::clamp(value, kInt32Min, kInt32Max);
  if (rounds == RequantizeRecipe::Rounds::kOnce) {
    const int right = 31 - multiplier.shift;  // 1..62
    return RoundShift(x * multiplier.mantissa, right, tie);
  }
  const int left = std::max(multiplier.shift, 0);
  const std::int64_t shifted = std::clamp(x * (std::int64_t{1} << left), kInt32Min, kInt32Max);
  const std::int64_t high = RoundShift(shifted * multiplier.mantissa, 31, tie);
  return RoundShift(high, std::max(-multiplier.shift, 0), TieRule::kHalfAway);
}

}  // namespace qtx::reference
