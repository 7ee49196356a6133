// Intervals of any precision that are certain to hold a real: MPFI's, as values.
#pragma once

#include <gmpxx.h>
#include <mpfi.h>

#include <functional>
#include <utility>

#include "engine/number.h"

namespace qtx::backend::engine {

class Interval {
 public:
  Interval(const mpq_class& value, mpfr_prec_t bits);
  Interval(const Interval& other);
  Interval(Interval&& other) noexcept;
  Interval& operator=(Interval other) noexcept;
  ~Interval();

  mpfr_prec_t bits() const { return mpfi_get_prec(value_); }
  /// Finite numbers between which it lies: what passes 2^2000, or is nearer to zero than 2^-2000,
  /// is 2^2000 or 2^-2000, which no format tells from it.
  std::pair<mpq_class, mpq_class> Ends() const;
  /// True when it holds one number alone.
  bool IsPoint() const;
  /// A double near its middle.
  double Middle() const { return mpfi_get_d(value_); }
  bool IsZero() const { return mpfi_is_zero(value_) != 0; }
  bool IsNan() const { return mpfi_nan_p(value_) != 0; }

  friend Interval operator+(const Interval& a, const Interval& b);
  friend Interval operator-(const Interval& a, const Interval& b);
  friend Interval operator*(const Interval& a, const Interval& b);
  friend Interval operator/(const Interval& a, const Interval& b);
  friend Interval operator-(const Interval& a);

  // Each rounds outward, so the results hold the function's values at every number of `x`.
  friend Interval Exp(const Interval& x);
  friend Interval Expm1(const Interval& x);
  friend Interval Log(const Interval& x);
  friend Interval Log1p(const Interval& x);
  friend Interval Sqrt(const Interval& x);
  friend Interval Tanh(const Interval& x);
  friend Interval Erf(const Interval& x);
  friend Interval Erfc(const Interval& x);
  /// x to the power 1 / n.  REQUIRES: x is not negative.
  friend Interval Root(const Interval& x, unsigned long n);
  friend Interval GreaterOf(const Interval& a, const Interval& b);
  friend Interval LesserOf(const Interval& a, const Interval& b);
  static Interval Pi(mpfr_prec_t bits);
  /// 1 / (1 + exp(-x)).
  static Interval Sigmoid(const Interval& x);

 private:
  explicit Interval(mpfr_prec_t bits) { mpfi_init2(value_, bits); }
  mpfi_t value_;
};

/// A real: a number, or one that can be enclosed as narrowly as asked for.
struct Real {
  Number number;
  std::function<Interval(mpfr_prec_t bits)> enclose = {};  // when set, `number` is not
  double estimate = 0,
         error = -1;  // with `enclose`: it lies within `error`, unless that is negative

  Real() = default;
  Real(Number n) : number(std::move(n)) {}  // NOLINT: a number is a real
  static Real Enclosed(std::function<Interval(mpfr_prec_t)> enclose) {
    Real real;
    real.enclose = std::move(enclose);
    return real;
  }
};

/// Bits to begin with, and those beyond which a value is the tie it cannot be told from (exact.S6).
inline constexpr mpfr_prec_t kFirstBits = 96;
inline constexpr mpfr_prec_t kMostBits = 8192;

/// Of the numbers from `low` to `high` the one with the fewest bits after its point: in an interval
/// narrow enough the only tie there can be.  REQUIRES: low <= high.
mpq_class Simplest(const mpq_class& low, const mpq_class& high);

}  // namespace qtx::backend::engine
