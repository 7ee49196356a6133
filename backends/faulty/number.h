// The two kinds of numbers this backend computes with: exact reals, and binary32 as the processor
// has it. Operators are written once, over either.
#pragma once

#include <gmpxx.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace qtx::backend::faulty {

/// A rational, an infinity or NaN. A zero has no sign: x / 0 is an infinity with the sign of x.
class Exact {
 public:
  Exact() = default;
  explicit Exact(mpq_class value) : value_(std::move(value)) {}
  explicit Exact(double value);

  bool finite() const { return special_ == 0; }
  /// REQUIRES: finite().
  const mpq_class& value() const { return value_; }
  /// An infinity or NaN.  REQUIRES: not finite().
  double special() const { return special_; }

  friend Exact operator+(const Exact& a, const Exact& b);
  friend Exact operator-(const Exact& a, const Exact& b);
  friend Exact operator*(const Exact& a, const Exact& b);
  friend Exact operator/(const Exact& a, const Exact& b);
  friend bool operator<(const Exact& a, const Exact& b);

 private:
  static Exact Special(double value);
  double Sign() const;  // as a double with the right sign, for the rules of infinities

  mpq_class value_;
  double special_ = 0;  // 0 stands for "finite"
};

/// How a number between two integers is rounded.
enum class Tie { kEven, kAway, kUp, kDown, kTruncate, kFloor };

inline constexpr std::int64_t kFar = std::int64_t{1} << 62;

/// `x` as an integer, at most kFar from 0.  REQUIRES: not NaN.
std::int64_t Round(const Exact& x, Tie tie);
std::int64_t Round(float x, Tie tie);

/// `x` as an integer of any size, half to even.  REQUIRES: finite.
Exact NearestInteger(const Exact& x);

inline bool IsNan(const Exact& x) { return !x.finite() && std::isnan(x.special()); }
inline bool IsNan(float x) { return std::isnan(x); }

/// The binary32 nearest to `x`, ties to even.
float ToFloat(const Exact& x);
inline float ToFloat(float x) { return x; }

/// N from a float (exactly) or an integer (rounded by binary32).
template <class N>
N FromDouble(double x) {
  return static_cast<N>(x);
}
template <class N>
N FromInteger(std::int64_t x);
template <>
inline Exact FromInteger<Exact>(std::int64_t x) {
  return Exact(mpq_class(static_cast<long>(x)));
}
template <>
inline float FromInteger<float>(std::int64_t x) {
  return static_cast<float>(x);
}

enum class Function { kSigmoid, kTanh, kExp };
/// The function's value to 512 bits, or 0 below 2^-4096. That decides every rounding: but for x = 0
/// the value is no rational, and scales are dyadic.  REQUIRES: not NaN; for kExp at most 2^10.
Exact Evaluate(Function function, const Exact& x);
/// exp(x[i]) / (sum over j of exp(x[j])) for each i, likewise.  REQUIRES: all finite.
std::vector<Exact> Softmax(const std::vector<Exact>& x);

}  // namespace qtx::backend::faulty
