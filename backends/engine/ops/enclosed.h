// Reals in computations of many steps: an interval, NaN or an infinity, with the rules of IEEE 754.
#pragma once

#include <span>
#include <vector>

#include "engine/elements.h"
#include "engine/interval.h"

namespace qtx::backend::engine {

class Enclosed {
 public:
  explicit Enclosed(const Number& number, mpfr_prec_t bits);
  explicit Enclosed(Interval interval) : interval_(std::move(interval)) {}

  bool finite() const { return state_ == State::kFinite; }
  bool nan() const { return state_ == State::kNan; }
  /// True if the sign of an infinity's factor is unknown, since its interval contains both signs.
  bool undecided() const { return state_ == State::kUndecided; }
  /// REQUIRES: finite.
  const Interval& interval() const { return interval_; }
  /// REQUIRES: not finite, and decided.
  Number special() const { return nan() ? Number::Nan() : Number::Infinity(sign_); }

  friend Enclosed operator+(const Enclosed& a, const Enclosed& b);
  friend Enclosed operator*(const Enclosed& a, const Enclosed& b);
  friend Enclosed operator-(const Enclosed& a);

  friend Enclosed SigmoidOf(const Enclosed& x);
  friend Enclosed TanhOf(const Enclosed& x);
  friend Enclosed ReluOf(const Enclosed& x);
  /// Clamped to [-bound, bound]; NaN stays NaN.
  friend Enclosed Clamped(const Enclosed& x, const mpq_class& bound);

 private:
  enum class State { kFinite, kNan, kInfinite, kUndecided };
  Enclosed(State state, int sign, const Interval& like)
      : interval_(0, like.bits()), state_(state), sign_(sign) {}
  Enclosed Point(const Number& number) const { return Enclosed(number, interval_.bits()); }

  Interval interval_;
  State state_ = State::kFinite;
  int sign_ = 0;  // of an infinity
};

// At an infinity each has its limit there.
Enclosed SigmoidOf(const Enclosed& x);
Enclosed TanhOf(const Enclosed& x);
Enclosed ReluOf(const Enclosed& x);

/// The elements of a tensor.
std::vector<Enclosed> EnclosedOf(const format::Tensor& tensor, mpfr_prec_t bits);

/// Writes those values, from element `first` on, that are not marked in `settled` and whose
/// rounding is certain, and marks them. Returns false if one is not certain. At the highest
/// precision such a value is a tie.
bool Settle(std::span<const Enclosed> values, mpfr_prec_t bits, NumberWriter& writer,
            std::vector<bool>& settled, std::int64_t first = 0);

}  // namespace qtx::backend::engine
