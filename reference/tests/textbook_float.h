// Rounding to binary floats and exponentials by MPFR: the textbook of what is not rational.
#pragma once

#include <gmpxx.h>
#include <mpfr.h>

#include <cstdint>
#include <vector>

#include "run_op.h"

namespace qtx::reference::testing {

/// The number of `bits` bits nearest to `value`, ties to even, subnormals and signs of zeros as
/// IEEE 754 has them, in a format whose least number is 2^`least` and whose numbers lie below
/// 2^`limit`. MPFR does it.
inline double TextbookNearest(const mpq_class& value, mpfr_prec_t bits, mpfr_exp_t least,
                              mpfr_exp_t limit) {
  const mpfr_exp_t lowest = mpfr_get_emin();
  const mpfr_exp_t highest = mpfr_get_emax();
  mpfr_set_emin(least + 1);  // MPFR's mantissas are in [1/2, 1)
  mpfr_set_emax(limit);
  mpfr_t rounded;
  mpfr_init2(rounded, bits);
  const int side = mpfr_set_q(rounded, value.get_mpq_t(), MPFR_RNDN);
  mpfr_subnormalize(rounded, side, MPFR_RNDN);
  const double result = mpfr_get_d(rounded, MPFR_RNDN);
  mpfr_clear(rounded);
  mpfr_set_emin(lowest);
  mpfr_set_emax(highest);
  return result;
}

/// The nearest binary32, and the nearest binary64.
inline float TextbookFloat(const mpq_class& value) {
  return static_cast<float>(TextbookNearest(value, 24, -149, 128));
}
inline double TextbookDouble(const mpq_class& value) {
  return TextbookNearest(value, 53, -1074, 1024);
}

/// e^x with a relative error below 2^(2 - bits), for |x| < 2^64.
inline mpq_class Exponential(const mpq_class& x, mpfr_prec_t bits) {
  mpfr_t argument, power;
  mpfr_init2(argument, bits + 64);
  mpfr_init2(power, bits);
  mpfr_set_q(argument, x.get_mpq_t(), MPFR_RNDN);
  mpfr_exp(power, argument, MPFR_RNDN);
  mpq_class result;
  // 0 and infinity where MPFR's own exponents end; nobody asks for the latter.
  if (mpfr_regular_p(power) != 0) mpfr_get_q(result.get_mpq_t(), power);
  mpfr_clear(argument);
  mpfr_clear(power);
  return result;
}

/// e^row[at] over the sum of e^row[i], to some 390 bits.
inline mpq_class TextbookShare(const std::vector<float>& row, std::size_t at) {
  constexpr mpfr_prec_t kBits = 400;
  const mpq_class own(static_cast<double>(row[at]));
  mpfr_t sum, term;
  mpfr_init2(sum, kBits);
  mpfr_init2(term, kBits);
  mpfr_set_zero(sum, 1);
  for (const float x : row) {
    const mpq_class difference = mpq_class(static_cast<double>(x)) - own;
    mpfr_set_q(term, difference.get_mpq_t(), MPFR_RNDN);
    mpfr_exp(term, term, MPFR_RNDN);
    mpfr_add(sum, sum, term, MPFR_RNDN);
  }
  mpfr_ui_div(sum, 1, sum, MPFR_RNDN);
  mpq_class share;
  if (mpfr_regular_p(sum) != 0) mpfr_get_q(share.get_mpq_t(), sum);
  mpfr_clear(sum);
  mpfr_clear(term);
  return share;
}

}  // namespace qtx::reference::testing
