#include "arithmetic/fixed16.h"

#include <algorithm>
#include <array>
#include <limits>

#include "arithmetic/round.h"

namespace qtx::reference {
namespace {

using std::int64_t;

constexpr int64_t kMin = std::numeric_limits<std::int16_t>::min();
constexpr int64_t kMax = std::numeric_limits<std::int16_t>::max();  // stands for 1 of 15 bits

int64_t Wrapped(int64_t value) { return static_cast<std::int16_t>(value); }
int64_t Product(int64_t a, int64_t b) {
  return Saturated16(RoundShift(a * b, 15, TieRule::kHalfUp));
}
int64_t ShiftedRight(int64_t value, int bits) {
  return RoundShift(value, bits, TieRule::kHalfAway);
}

// exp(-1/8 + x) of x in [-1/8, 1/8), all of 15 fractional bits: the series up to x^4 / 24.
int64_t ExpOfQuarter(int64_t a) {
  constexpr int64_t kExpOfEighth = 28918, kThird = 10923, kEighth = 4096;
  const int64_t x = a + kEighth;
  const int64_t x2 = Product(x, x), x3 = Product(x2, x), x4 = Product(x2, x2);
  const int64_t rest = ShiftedRight(Product(ShiftedRight(x4, 2) + x3, kThird) + x2, 1);
  return Saturated16(kExpOfEighth + Product(kExpOfEighth, Wrapped(x + rest)));
}

// exp(a), in units of 2^-15, of a <= 0 of `integer_bits`: a multiple of 1/4, whose binary digits
// each multiply the result, and the rest.
int64_t ExpOfNegative(int64_t a, int integer_bits) {
  if (a == 0) return kMax;
  // exp(-2^(k - 2)) for k from 0.
  constexpr std::array<int64_t, 7> kPowers = {25520, 19875, 12055, 4435, 600, 11, 0};
  const int fraction_bits = 15 - integer_bits;
  const int64_t quarter = int64_t{1} << (fraction_bits - 2);
  if (integer_bits > 5 && a < -(int64_t{32} << fraction_bits)) return 0;
  const int64_t rest = (a & (quarter - 1)) - quarter;
  int64_t result = ExpOfQuarter(rest * (int64_t{1} << integer_bits));
  const int64_t multiple = rest - a;
  const int digits = std::min(integer_bits + 2, static_cast<int>(kPowers.size()));
  for (int k = 0; k < digits; ++k) {
    if ((multiple & (quarter << k)) != 0)
      result = Product(result, kPowers[static_cast<std::size_t>(k)]);
  }
  return result;
}

// 2 / (1 + a), in units of 2^-13, of a in [0, 1] of 15 fractional bits: Newton's method from
// 48/17 - 32/17 d for d = (1 + a) / 2.
int64_t TwoOverOnePlus(int64_t a) {
  constexpr int64_t k48Over17 = 23130, k32Over17 = 15420, kOne = 1 << 13;
  const int64_t half = (a + kMax + 1) / 2;
  int64_t x = Wrapped(k48Over17 + Product(half, -k32Over17));
  for (int step = 0; step < 3; ++step) {
    const int64_t error = Wrapped(kOne - Product(half, x));
    x = Wrapped(x + Saturated16(Product(x, error) * 4));
  }
  return x;
}

}  // namespace

std::int16_t Logistic16(std::int16_t x) {
  if (x == 0) return 1 << 14;
  const int64_t a = x > 0 ? -x : x;
  const int64_t positive = Saturated16(TwoOverOnePlus(ExpOfNegative(a, 3)) * 2);
  return static_cast<std::int16_t>(x > 0 ? positive : kMax - positive);
}

std::int16_t Tanh16(std::int16_t x, int integer_bits) {
  if (x == 0) return 0;
  const int64_t a = x > 0 ? -x : x;
  constexpr int64_t kOne = 1 << 13;
  // exp(2a) = exp of the same bits with one more before the point.
  const int64_t magnitude =
      Saturated16(Wrapped(TwoOverOnePlus(ExpOfNegative(a, integer_bits + 1)) - kOne) * 4);
  return static_cast<std::int16_t>(x > 0 ? magnitude : -magnitude);
}

}  // namespace qtx::reference
