// Intervals that certainly contain a real number, of any precision: MPFI's intervals as a value
// type.
#pragma once

#include <gmpxx.h>
#include <mpfi.h>

#include <functional>
#include <utility>

#include "engine/number.h"
#include "qtx/format/mpfr_cache.h"

namespace qtx::backend::engine {

class Interval {
 public:
  Interval(const mpq_class& value, mpfr_prec_t bits);
  Interval(const Interval& other);
  Interval(Interval&& other) noexcept;
  Interval& operator=(Interval other) noexcept;
  ~Interval();

  mpfr_prec_t bits() const { return mpfi_get_prec(value_); }
  /// Finite lower and upper end. An end above 2^kMostBits in magnitude becomes that, one below
  /// 2^-kMostBits becomes that: they round alike in every format.
  std::pair<mpq_class, mpq_class> Ends() const;
  /// True if it contains exactly one number.
  bool IsPoint() const;
  /// The double nearest to its middle.
  double Middle() const { return mpfi_get_d(value_); }
  bool IsZero() const { return mpfi_is_zero(value_) != 0; }
  bool IsNan() const { return mpfi_nan_p(value_) != 0; }

  friend Interval operator+(const Interval& a, const Interval& b);
  friend Interval operator-(const Interval& a, const Interval& b);
  friend Interval operator*(const Interval& a, const Interval& b);
  friend Interval operator/(const Interval& a, const Interval& b);
  friend Interval operator-(const Interval& a);

  // Each rounds outward, so that the result contains the function's value at every number of `x`.
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
  explicit Interval(mpfr_prec_t bits) {
    format::OwnMpfrCache();
    mpfi_init2(value_, bits);
  }
  mpfi_t value_;
};

/// A real: a rational number, or a function that encloses the real in an interval of any precision.
struct Real {
  Number number;
  std::function<Interval(mpfr_prec_t bits)> enclose = {};  // if set, `number` is unused
  double estimate = 0,
         error =
             -1;  // with `enclose`: the real is within `error` of `estimate`; negative: no estimate

  Real() = default;
  Real(Number n) : number(std::move(n)) {}  // NOLINT: a number is a real
  static Real Enclosed(std::function<Interval(mpfr_prec_t)> enclose) {
    Real real;
    real.enclose = std::move(enclose);
    return real;
  }
};

/// Precision of the first interval, and of the last one, after which a value in doubt is a tie
/// (exact.S6).
inline constexpr mpfr_prec_t kFirstBits = 96;
inline constexpr mpfr_prec_t kMostBits = 8192;

/// The number from `low` to `high` with the fewest bits after the binary point, which is the only
/// possible tie in a narrow interval.  REQUIRES: low <= high.
mpq_class Simplest(const mpq_class& low, const mpq_class& high);

}  // namespace qtx::backend::engine
