// Functions of one real, put element by element.  Source: exact.S6, float32.S3 and .S8.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "arithmetic/output.h"
#include "interval.h"
#include "operand.h"

namespace qtx::reference {

/// A function of one real, by its values.
struct RealFunction {
  /// f(x) where that is a rational number that `enclose` cannot reach, else nullopt; may be empty
  /// when there is no such x.
  std::function<std::optional<Rational>(const Rational& x)> rational;
  /// An interval that holds f(x) for all of x; may be empty when `rational` always has a value. The
  /// x of an element is a dyadic of at most 64 bits, which an interval holds exactly, as it does
  /// what is computed from it without rounding: the value of every f here at 0, roots of squares.
  std::function<Interval(Interval x)> enclose;
  /// f(x) in binary64 with a proven bound, infinite where there is none; f's limit, or what IEEE
  /// 754 gives, at an infinity; NaN outside the domain, and not finite at no other real but a pole.
  std::function<Approximation(double x)> approximate;
  /// What f is at a real that need not be a binary64: NaN outside the domain, an infinity at a
  /// pole, else nullopt; empty where `approximate` says it of the nearest binary64 as well.
  std::function<std::optional<double>(const Rational& x)> special;
  /// f's limit at the infinity of that sign where it is finite and no binary64; else empty.
  std::function<Interval(int sign, int bits)> limit;
  /// f one binary32 operation at a time (float32.S3); empty where f is one operation (float32.S8).
  std::function<float(float x)> binary32;
};

/// {value, |value| * units * 2^-53}: a bound of so many rounding units, from 2^-1000 on.
Approximation Within(double value, double units);

/// The natural logarithm: NaN below zero, minus infinity at zero.
RealFunction Logarithm();

/// f(x), rounded half to even once.
float NearestFloat(const RealFunction& f, float x);

/// Puts f of elements of `input`. Borrows all three. A stored value of at most 16 bits is computed
/// once where one scale holds for all elements.
class FunctionPutter {
 public:
  FunctionPutter(const Arithmetic& arithmetic, const RealFunction& f, const Operand& input,
                 Output* output);
  void Put(std::int64_t element, std::int64_t source);

 private:
  void PutExact(std::int64_t element, std::int64_t source);

  Domain domain_;
  const RealFunction* f_;
  const Operand* input_;
  Output* output_;
  std::int64_t lowest_ = 0;          // stored value that known_[0] is for
  std::vector<std::int64_t> known_;  // an element already put for each stored value, or -1
};

}  // namespace qtx::reference
