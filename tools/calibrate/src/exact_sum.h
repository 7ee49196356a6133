// Arithmetic on ExactSum with GMP integers; mean and std from sums.
#pragma once

#include <gmp.h>

#include <cstdint>

#include "qtx/format/result.h"
#include "qtx/format/statistics.h"

namespace qtx::calibrate {

/// A GMP integer.
class Integer {
 public:
  Integer() { mpz_init(value_); }
  Integer(const Integer& other) { mpz_init_set(value_, other.value_); }
  Integer& operator=(const Integer& other) {
    mpz_set(value_, other.value_);
    return *this;
  }
  ~Integer() { mpz_clear(value_); }
  mpz_ptr get() { return value_; }
  mpz_srcptr get() const { return value_; }

 private:
  mpz_t value_;
};

/// `integer` * 2^`exponent` in the canonical form of statistics.C6.
format::ExactSum ToExactSum(const Integer& integer, std::int64_t exponent);
/// The integer of `sum`, without its exponent.
Integer ToInteger(const format::ExactSum& sum);

/// a + b.  Errors: kTooLarge past what statistics.C6 allows.
/// REQUIRES: exponents within the bounds of statistics.C6.
Result<format::ExactSum> Add(const format::ExactSum& a, const format::ExactSum& b);

struct MeanAndStd {
  double mean = 0;
  double std = 0;  // of the population
};
/// sum / count and sqrt(count * sum_of_squares - sum^2) / count, each exact and then rounded to
/// binary64 once, half even.  Errors: kInvalid for impossible sums.
/// REQUIRES: count > 0; exponents as above.
Result<MeanAndStd> Round(const format::Moments& moments);

}  // namespace qtx::calibrate
