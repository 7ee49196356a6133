// The published formulas of other systems, written a second time in GMP integers and rationals: no
// code is shared with the reference. IEEE operations are exact rationals rounded once.
#pragma once

#include <gmpxx.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

namespace qtx::reference::testing::textbook {

inline mpq_class Q(double value) { return mpq_class(value); }
inline mpq_class PowerOfTwo(long exponent) {
  mpq_class result(1);
  const auto bits = static_cast<mp_bitcnt_t>(std::labs(exponent));
  if (exponent < 0) mpq_div_2exp(result.get_mpq_t(), result.get_mpq_t(), bits);
  if (exponent > 0) mpq_mul_2exp(result.get_mpq_t(), result.get_mpq_t(), bits);
  return result;
}

inline mpz_class Floor(const mpq_class& x) {
  mpz_class result;
  mpz_fdiv_q(result.get_mpz_t(), x.get_num_mpz_t(), x.get_den_mpz_t());
  return result;
}
inline mpz_class HalfUp(const mpq_class& x) { return Floor(x + mpq_class(1, 2)); }
inline mpz_class HalfAway(const mpq_class& x) { return x < 0 ? mpz_class(-HalfUp(-x)) : HalfUp(x); }
inline mpz_class HalfEven(const mpq_class& x) {
  const mpz_class up = HalfUp(x);
  const bool tie = mpq_class(up) - x == mpq_class(1, 2);
  return tie && mpz_odd_p(up.get_mpz_t()) != 0 ? mpz_class(up - 1) : up;
}

/// The exponent e of x = q * 2^e with 0.5 <= q < 1.  REQUIRES: x > 0.
inline long ExponentOf(const mpq_class& x) {
  auto e = static_cast<long>(mpz_sizeinbase(x.get_num_mpz_t(), 2)) -
           static_cast<long>(mpz_sizeinbase(x.get_den_mpz_t(), 2));
  while (x >= PowerOfTwo(e)) ++e;
  while (x < PowerOfTwo(e - 1)) --e;
  return e;
}

/// x rounded half even to `bits` of significand, the last place at least 2^lowest. No overflow.
inline mpq_class Ieee(const mpq_class& x, long bits, long lowest) {
  if (x == 0) return x;
  const mpq_class unit = PowerOfTwo(std::max(ExponentOf(abs(x)) - bits, lowest));
  return mpq_class(HalfEven(x / unit)) * unit;
}
inline mpq_class Binary32(const mpq_class& x) { return Ieee(x, 24, -149); }
inline mpq_class Binary64(const mpq_class& x) { return Ieee(x, 53, -1074); }

/// half_away of the significand to `bits` bits, and the exponent: tflite.S1.
inline std::pair<mpz_class, long> Mantissa(const mpq_class& factor, long bits = 31) {
  long e = ExponentOf(factor);
  mpz_class m = HalfAway(factor * PowerOfTwo(bits - e));
  if (m == PowerOfTwo(bits)) {
    m /= 2;
    ++e;
  }
  return {m, e};
}

/// tflite.S2.
inline mpz_class Once(const mpz_class& a, const mpz_class& m, long e, long bits = 31) {
  return HalfUp(mpq_class(a * m) * PowerOfTwo(e - bits));
}
/// tflite.S3, from its words: the high half of the doubled product, ties up, then ties away.
inline mpz_class Twice(const mpz_class& a, const mpz_class& m, long e) {
  const mpz_class left = a * mpz_class(PowerOfTwo(std::max(e, 0L)));
  const mpz_class low = -mpz_class(PowerOfTwo(31));
  const mpz_class high = mpz_class(PowerOfTwo(31)) - 1;
  const mpz_class shifted = left < low ? low : left > high ? high : left;
  return HalfAway(mpq_class(HalfUp(mpq_class(shifted * m) / PowerOfTwo(31))) *
                  PowerOfTwo(std::min(e, 0L)));
}

/// TOSA's apply_scale_32.  Source: tosa-specification pseudocode/library/scale_helpers.tosac.
inline std::int64_t ApplyScale32(std::int64_t value, std::int64_t multiplier, int shift,
                                 bool double_round) {
  __int128 round = static_cast<__int128>(1) << (shift - 1);
  if (double_round && shift > 31) round += value >= 0 ? 1 << 30 : -(1 << 30);
  return static_cast<std::int64_t>((static_cast<__int128>(value) * multiplier + round) >> shift);
}

/// Glow's 32-to-8 transform, its loops on the exact factor.
inline std::int64_t GlowScale(std::int32_t value, mpq_class factor) {
  int pre = 0;
  int post = 0;
  for (; factor < mpq_class(1, 2) || (factor < 256 && post < 15); ++post) factor *= 2;
  for (; factor < 255 && pre < post / 2; ++pre) factor *= 2;
  const long m = HalfAway(factor).get_si();
  // Two's complement of 32 bits throughout.
  const auto product = static_cast<std::uint32_t>(value >> pre) * static_cast<std::uint32_t>(m);
  const auto sum = static_cast<std::int32_t>(product + (1U << (post - 1)));
  return sum >> post;
}

inline std::int64_t Clamp(const mpz_class& value, long min, long max) {
  return value < min ? min : value > max ? max : value.get_si();
}

}  // namespace qtx::reference::testing::textbook
