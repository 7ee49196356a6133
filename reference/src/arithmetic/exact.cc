// Coordinate kExact: rounding of exact rationals.
#include "arithmetic/round.h"

namespace qtx::reference {
namespace {

std::int64_t Clamp(const mpz_class& value, std::int64_t min, std::int64_t max) {
  if (value < static_cast<long>(min)) return min;
  if (value > static_cast<long>(max)) return max;
  return value.get_si();
}

}  // namespace

std::int64_t QuantizedInteger(const Rational& quotient, std::int64_t offset,
                              const QuantizeRecipe& recipe, std::int64_t min, std::int64_t max) {
  const auto zero = static_cast<long>(offset);
  if (recipe.offset == QuantizeRecipe::Offset::kBeforeRounding) {
    return Clamp(Round(quotient + zero, recipe.tie), min, max);
  }
  return Clamp(Round(quotient, recipe.tie) + zero, min, max);
}

}  // namespace qtx::reference
