// Coordinates kMantissa and kPreShift, the widths of accumulators, and averages of stored values.
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
  if (tie == TieRule::kDown) return below;
  if (side != 0) return side > 0 ? below + 1 : below;
  if (tie == TieRule::kHalfDown) return below;
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

std::int64_t Accumulated(std::int64_t sum, RequantizeRecipe::Accumulator width) {
  using enum RequantizeRecipe::Accumulator;
  constexpr std::int64_t kInt48Max = (std::int64_t{1} << 47) - 1;
  switch (width) {
    case kExact:
      return sum;
    case kClamp48:
      return std::clamp(sum, -kInt48Max - 1, kInt48Max);
    case kWrap16:
      return static_cast<std::int16_t>(static_cast<std::uint16_t>(sum));
    case kWrap24:
      return static_cast<std::int32_t>(static_cast<std::uint32_t>(sum) << 8) >> 8;
    case kFloat32:
      return sum;
    case kClamp24:
      return std::clamp<std::int64_t>(sum, -(1 << 23), (1 << 23) - 1);
    case kWrap32:
    case kPairs16:
    case kShiftedPairs16:
    case kWrappedPairs16:
      break;
  }
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(sum));
}

FixedMultiplier ToFixed(double factor, int bits) {
  constexpr std::int32_t kLargest = std::numeric_limits<std::int32_t>::max();
  // 2^30 and more cannot occur with stored results; a larger factor saturates to the largest one.
  if (!(factor < 0x1p30) && (bits == 31 || std::isinf(factor))) return {kLargest, 30, bits};
  int exponent = 0;
  const double fraction = std::frexp(factor, &exponent);  // in [0.5, 1)
  auto mantissa = static_cast<std::int64_t>(std::round(std::ldexp(fraction, bits)));
  if (mantissa == std::int64_t{1} << bits) {
    mantissa /= 2;
    ++exponent;
  }
  if (exponent < -31 && bits == 31) return {};
  return {static_cast<std::int32_t>(mantissa), exponent, bits};
}

std::int64_t MultiplyFixed(std::int64_t value, FixedMultiplier multiplier,
                           RequantizeRecipe::Rounds rounds, TieRule tie) {
  using enum RequantizeRecipe::Rounds;
  if (rounds == kOnce || (rounds == kTwiceUnsaturated && multiplier.shift >= 0)) {
    const int right = multiplier.bits - multiplier.shift;  // 1..62
    return RoundShift(value * multiplier.mantissa, right, tie);
  }
  const std::int64_t shifted = value * (std::int64_t{1} << std::max(multiplier.shift, 0));
  const bool wraps = rounds == kTwiceWrapped || rounds == kTwiceHalfUp;
  const std::int64_t held = wraps ? Accumulated(shifted, RequantizeRecipe::Accumulator::kWrap32)
                                  : std::clamp(shifted, kInt32Min, kInt32Max);
  const std::int64_t high = RoundShift(held * multiplier.mantissa, 31, tie);
  return RoundShift(high, std::max(-multiplier.shift, 0),
                    rounds == kTwiceHalfUp ? tie : TieRule::kHalfAway);
}

PreShift ToPreShift(float factor) {
  PreShift result{0, 0, 0};
  while (factor < 0.5F || (factor < 256 && result.after < 15)) {
    factor *= 2;
    ++result.after;
  }
  while (factor < 255 && result.before < result.after / 2) {
    factor *= 2;
    ++result.before;
  }
  result.mantissa = static_cast<std::int32_t>(std::round(factor));
  return result;
}

std::int64_t MultiplyPreShifted(std::int64_t value, PreShift multiplier) {
  const std::int64_t half = std::int64_t{1} << (multiplier.after - 1);
  const std::int64_t product = (value >> multiplier.before) * multiplier.mantissa;
  return Accumulated(product + half, RequantizeRecipe::Accumulator::kWrap32) >> multiplier.after;
}

}  // namespace qtx::reference
