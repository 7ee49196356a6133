// Numbers of about 106 bits as the unevaluated sum of two doubles, and the exponential on them.
// Source: T. J. Dekker, "A floating-point technique for extending the available precision", 1971;
// error bounds of M. Joldes, J.-M. Muller, V. Popescu, "Tight and rigorous error bounds for basic
// building blocks of double-word arithmetic", 2017 (every operation below errs by less than 2^-100
// relative).
#pragma once

#include <cmath>

namespace qtx::backend::engine {

struct DoubleDouble {
  double high = 0, low = 0;  // |low| <= ulp(high) / 2
};

/// a + b exactly, for |a| >= |b| or a == 0.
inline DoubleDouble FastTwoSum(double a, double b) {
  const double sum = a + b;
  return {sum, b - (sum - a)};
}
inline DoubleDouble TwoSum(double a, double b) {
  const double sum = a + b;
  const double part = sum - a;
  return {sum, (a - (sum - part)) + (b - part)};
}

/// a * b exactly, unless it underflows.
inline DoubleDouble TwoProduct(double a, double b) {
  const double product = a * b;
  return {product, std::fma(a, b, -product)};
}

inline DoubleDouble operator+(const DoubleDouble& a, const DoubleDouble& b) {
  const DoubleDouble high = TwoSum(a.high, b.high);
  const DoubleDouble low = TwoSum(a.low, b.low);
  const DoubleDouble sum = FastTwoSum(high.high, high.low + low.high);
  return FastTwoSum(sum.high, low.low + sum.low);
}
inline DoubleDouble operator-(const DoubleDouble& a, const DoubleDouble& b) {
  return a + DoubleDouble{-b.high, -b.low};
}
inline DoubleDouble operator*(const DoubleDouble& a, const DoubleDouble& b) {
  const double high = a.high * b.high;
  const double low = std::fma(a.high, b.high, -high) + (a.high * b.low + a.low * b.high);
  return FastTwoSum(high, low);
}
inline DoubleDouble operator/(const DoubleDouble& a, const DoubleDouble& b) {
  const double first = a.high / b.high;
  const DoubleDouble rest = a - b * DoubleDouble{first, 0};
  const double second = rest.high / b.high;
  const DoubleDouble rest_again = rest - b * DoubleDouble{second, 0};
  const DoubleDouble sum = FastTwoSum(first, second);
  return sum + DoubleDouble{rest_again.high / b.high, 0};
}

/// exp(-x) for x >= 0 to better than 2^-95 relative; 0 from x = 600 on, which a sum that holds
/// exp(0) = 1 cannot tell from the value (below 2^-865).
DoubleDouble ExpOfNegative(const DoubleDouble& x);
inline DoubleDouble ExpOfNegative(double x) { return ExpOfNegative(DoubleDouble{x, 0}); }

}  // namespace qtx::backend::engine
