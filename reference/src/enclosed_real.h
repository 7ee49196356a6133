// Numbers of a computation whose every step is enclosed: intervals, and what IEEE 754 gives where
// an operand is not finite.
#pragma once

#include "interval.h"

namespace qtx::reference {

/// One real in an interval, or an infinity, or NaN. An infinity times an interval that holds zero
/// and more is open: more bits decide it, and the last ones take the interval for zero (exact.S6).
class EnclosedReal {
 public:
  EnclosedReal(const Dyadic& value, int bits);

  enum class Kind { kFinite, kSpecial, kOpen };
  Kind kind() const { return kind_; }
  const Interval& interval() const { return x_; }  // REQUIRES: kFinite
  double special() const { return special_; }      // REQUIRES: kSpecial

  EnclosedReal& operator+=(const EnclosedReal& b);
  EnclosedReal& operator-=(const EnclosedReal& b);
  EnclosedReal& operator*=(const EnclosedReal& b);

  /// Into [-bound, bound]; NaN stays.  REQUIRES: bound > 0, finite.
  friend EnclosedReal Clipped(EnclosedReal x, float bound);
  /// max(x, 0); NaN stays.
  friend EnclosedReal Positive(EnclosedReal x);
  /// A function that increases from its limit `low` to its limit `high`.
  friend EnclosedReal Bounded(EnclosedReal x, const std::function<Interval(Interval)>& f, int low,
                              int high);

 private:
  void SetSpecial(double value);
  void SetInteger(std::int64_t value);

  Kind kind_ = Kind::kFinite;
  double special_ = 0;
  Interval x_;
};

EnclosedReal Clipped(EnclosedReal x, float bound);
EnclosedReal Positive(EnclosedReal x);
EnclosedReal Bounded(EnclosedReal x, const std::function<Interval(Interval)>& f, int low, int high);

inline EnclosedReal operator+(EnclosedReal a, const EnclosedReal& b) { return std::move(a += b); }
inline EnclosedReal operator-(EnclosedReal a, const EnclosedReal& b) { return std::move(a -= b); }
inline EnclosedReal operator*(EnclosedReal a, const EnclosedReal& b) { return std::move(a *= b); }

}  // namespace qtx::reference
