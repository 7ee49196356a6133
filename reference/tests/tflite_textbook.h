// TFLite's rounding written again from spec/arithmetic/tflite.md, sharing no code with the
// reference: binary32 as MPFR numbers of 24 bits, integers as GMP's.
#pragma once

#include <mpfr.h>

#include <cmath>

#include "run_op.h"

namespace qtx::reference::testing {

// A binary32 without its limits: MPFR rounds every operation to 24 bits, ties to even.
class B32 {
 public:
  B32(double value) {
    Init([value](mpfr_ptr v) { mpfr_set_d(v, value, MPFR_RNDN); });
  }
  B32(const B32& other) {
    Init([&](mpfr_ptr v) { mpfr_set(v, other.value_, MPFR_RNDN); });
  }
  B32& operator=(const B32& other) {
    mpfr_set(value_, other.value_, MPFR_RNDN);
    return *this;
  }
  ~B32() { mpfr_clear(value_); }

  template <typename Operation>
  B32 With(const B32& b, Operation operation) const {
    B32 result(0);
    operation(result.value_, value_, b.value_, MPFR_RNDN);
    return result;
  }
  B32 operator+(const B32& b) const { return With(b, mpfr_add); }
  B32 operator-(const B32& b) const { return With(b, mpfr_sub); }
  B32 operator*(const B32& b) const { return With(b, mpfr_mul); }
  B32 operator/(const B32& b) const { return With(b, mpfr_div); }
  template <typename Function>
  B32 Apply(Function function) const {
    B32 result(0);
    function(result.value_, value_, MPFR_RNDN);
    return result;
  }
  double value() const { return mpfr_get_d(value_, MPFR_RNDN); }
  /// mpfr_round rounds ties away from zero, mpfr_roundeven to even.
  long HalfAway() const {
    return Integer([](mpfr_ptr v) { mpfr_round(v, v); });
  }
  long HalfEven() const {
    return Integer([](mpfr_ptr v) { mpfr_roundeven(v, v); });
  }

 private:
  template <typename Set>
  void Init(Set set) {
    mpfr_init2(value_, 24);
    set(value_);
  }
  template <typename Round>
  long Integer(Round round) const {
    B32 copy(*this);
    round(copy.value_);
    return mpfr_get_si(copy.value_, MPFR_RNDN);
  }
  mpfr_t value_;
};

inline long Clamp(long value, long min, long max) { return std::max(min, std::min(max, value)); }

// floor(p / 2^n)
inline mpz_class Floor(const mpz_class& p, unsigned long n) {
  mpz_class q;
  mpz_fdiv_q_2exp(q.get_mpz_t(), p.get_mpz_t(), n);
  return q;
}
// high of S3: 2ab / 2^32 with ties upwards; the toward-zero quotient of a nudged product is that.
inline mpz_class High(const mpz_class& a, const mpz_class& b) {
  return Floor(a * b + (1L << 30), 31);
}
// pot of S3: h / 2^r to the nearest, ties away from zero.
inline mpz_class Pot(const mpz_class& h, unsigned long r) {
  if (r == 0) return h;
  const mpz_class half = mpz_class(1) << (r - 1);
  return h < 0 ? mpz_class(-Floor(-h + half, r)) : Floor(h + half, r);
}
struct Pair {
  mpz_class m;
  long e;
};
inline Pair ToPair(double factor) {  // S1
  int e = 0;
  const double q = std::frexp(factor, &e);
  mpz_class m(std::floor(q * 0x1p31 + 0.5));
  if (m == mpz_class(1) << 31) return {m / 2, e + 1};
  return {m, e};
}
inline mpz_class Twice(const mpz_class& a, const Pair& factor) {
  const auto left = static_cast<unsigned long>(std::max(factor.e, 0L));
  const auto right = static_cast<unsigned long>(std::max(-factor.e, 0L));
  return Pot(High(a << left, factor.m), right);
}

inline long Clamped(const mpz_class& value, long min, long max) {
  return value < min ? min : value > max ? max : value.get_si();
}

}  // namespace qtx::reference::testing
