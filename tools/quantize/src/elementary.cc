#include "elementary.h"

#include <cmath>

namespace qtx::quantize {
namespace {

constexpr double kLn2 = 0x1.62e42fefa39efp-1;
constexpr double kHalfSqrt2 = 0x1.6a09e667f3bcdp-1;

// 2^x = 2^n * e^(f ln 2), |f| <= 1/2, by Taylor: 0.35^18 / 18! < 2^-79.
double Exp2(double x) {
  const double n = std::nearbyint(x);
  const double t = (x - n) * kLn2;
  double sum = 1;
  for (int k = 17; k > 0; --k) sum = 1 + sum * t / k;
  return std::ldexp(sum, static_cast<int>(n));
}

}  // namespace

// x = m * 2^e with m in [sqrt(1/2), sqrt(2)); ln m = 2 artanh(s), s = (m - 1) / (m + 1), by its
// series: s^2 < 0.0295, of which the 13th power is below 2^-66.
double Log2(double x) {
  int e = 0;
  double m = std::frexp(x, &e);
  if (m < kHalfSqrt2) {
    m *= 2;
    --e;
  }
  const double s = (m - 1) / (m + 1);
  double sum = 0;
  for (int k = 25; k >= 1; k -= 2) sum = sum * (s * s) + 1.0 / k;
  return e + 2 * s * sum / kLn2;
}

double Power(double x, double p) {
  if (x == 0) return 0;
  if (p == 1) return x;
  if (p == 2) return x * x;
  return Exp2(p * Log2(x));
}

}  // namespace qtx::quantize
