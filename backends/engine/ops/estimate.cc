#include "engine/ops/estimate.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>

#include "engine/double_double.h"

namespace qtx::backend::engine {
namespace {

// Bounds below count roundings of u = 2^-53 and round the count up to a power of two.
constexpr double kLeastExponent = 600;  // of ExpOfNegative
constexpr double kNothing = 0x1p-800;   // more than what it leaves out

const Estimate kUnknown{0, std::numeric_limits<double>::infinity()};

// exp(-|x|) within u of itself, but for what is below 2^-800.
double Decay(double x) { return ExpOfNegative(std::fabs(x)).high; }

// ln(s), with s within 2^-90 of itself: near is any y0 near it, and ln(s) = y0 + ln(1 + d) with
// d = s exp(-y0) - 1, computed within 2^-88; ln(1 + d) lies within d^2 of d.
Estimate Logarithm(const DoubleDouble& s, double near) {
  const DoubleDouble one{1, 0};
  if (!(std::fabs(near) < kLeastExponent)) return kUnknown;
  const DoubleDouble decay = ExpOfNegative(std::fabs(near));
  const DoubleDouble d = (near >= 0 ? s * decay : s / decay) - one;
  if (!(std::fabs(d.high) < 0x1p-30)) return kUnknown;
  const double value = near + d.high;
  return {value, d.high * d.high + std::fabs(value) * 0x1p-52 + 0x1p-86};
}

// erf(t) = factor * exp(-w / 2) * sum of first * w^n / (3 * 5 * ... * (2n + 1)), w = 2 t^2: all
// terms of one sign. w errs by u and moves the exponential by w u / 2 < 2^-47 (w below 90); each of
// at most 200 terms by 4 u more than the one before; the sums by u each. Together below 2^-42.
double ErfBySeries(double first, double w, double factor) {
  double sum = 0;
  double term = first;
  for (int n = 1; n < 400; n += 2) {
    sum += term;
    term *= w / (n + 2);
    // From here on each term is below half the one before: the rest is below twice this one.
    if (w < (n + 4) / 2.0 && std::fabs(term) < std::fabs(sum) * 0x1p-56) break;
  }
  return factor * Decay(w / 2) * sum;
}

constexpr double kErfReach = 6.5;                      // 1 - erf(6.5) is below 2^-60
constexpr double kTwoByRootPi = 0x1.20dd750429b6dp+0;  // 2 / sqrt(pi), within u
constexpr double kRootTwoByPi = 0x1.9884533d43651p-1;  // sqrt(2 / pi), within 2 u
constexpr double kRootTwo = 0x1.6a09e667f3bcdp+0;

// exp(-|x|) within 2^-45 of itself, but for what is below 2^-800. With u = 2^-53: k ln 2 in two
// parts, of which the first has 32 bits and so an exact product, leaves |r| <= 0.35 within u; the
// series to r^13 ends below 2^-57. Its even and its odd terms are evaluated side by side; each
// coefficient errs by u of itself and each operation by u of its result, none of which has a sum of
// magnitudes above 1.5: together less than 52 u, where the result is at least 0.7.
double QuickDecay(double x) {
  constexpr double kLn2High = 0x1.62e42feep-1;
  constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
  constexpr double kRounder = 0x1.8p52;
  static constexpr double kEven[] = {1.0 / 479001600, 1.0 / 3628800, 1.0 / 40320,
                                     1.0 / 720,       1.0 / 24,      1.0 / 2};
  static constexpr double kOdd[] = {1.0 / 6227020800, 1.0 / 39916800, 1.0 / 362880,
                                    1.0 / 5040,       1.0 / 120,      1.0 / 6};
  const double magnitude = std::fabs(x);
  if (!(magnitude < kLeastExponent)) return 0;
  const double k = (magnitude * 0x1.71547652b82fep0 + kRounder) - kRounder;
  const double r = (k * kLn2High - magnitude) + k * kLn2Low;
  const double square = r * r;
  double even = kEven[0];
  double odd = kOdd[0];
  for (std::size_t i = 1; i < std::size(kEven); ++i) {
    even = even * square + kEven[i];
    odd = odd * square + kOdd[i];
  }
  const double series = 1 + (r + square * (even + r * odd));
  // 2^-k, a normal number: k is below 866.
  const auto exponent = static_cast<std::uint64_t>(1023 - static_cast<std::int64_t>(k));
  return series * std::bit_cast<double>(exponent << 52);
}

// Of exp(-|x|), and of exp(-|2 x|).
double SigmoidByDecay(double decay, double x) { return (x < 0 ? decay : 1) / (1 + decay); }
double TanhByDecay(double decay, double x) { return std::copysign((1 - decay) / (1 + decay), x); }

}  // namespace

Estimate EstimateExp(double x) {
  if (std::fabs(x) > kLeastExponent) return kUnknown;
  const double value = x > 0 ? 1 / Decay(x) : Decay(x);
  return {value, value * 0x1p-50 + kNothing};
}

Estimate EstimateExpm1(double x) { return {Decay(x) - 1, 0x1p-51}; }

Estimate EstimateLog(double x) { return Logarithm({x, 0}, std::log(x)); }

Estimate EstimateSigmoid(double x) {
  const double value = SigmoidByDecay(Decay(x), x);
  return {value, value * 0x1p-49 + kNothing};
}

Estimate EstimateTanh(double x) { return {TanhByDecay(Decay(2 * x), x), 0x1p-49}; }

Estimate QuickSigmoid(double x) {
  const double value = SigmoidByDecay(QuickDecay(x), x);
  return {value, value * 0x1p-44 + kNothing};
}

Estimate QuickTanh(double x) { return {TanhByDecay(QuickDecay(2 * x), x), 0x1p-44}; }

Estimate EstimateErf(double x) {
  if (std::fabs(x) > kErfReach) return {std::copysign(1.0, x), 0x1p-60};
  const double value = ErfBySeries(x, 2 * x * x, kTwoByRootPi);
  return {value, std::fabs(value) * 0x1p-42};
}

// x (1 + erf(x / sqrt 2)) / 2; the series in w = x^2 begins with x / sqrt 2 * 2 / sqrt(pi).
Estimate EstimateGelu(double x) {
  double erf = std::copysign(1.0, x);
  if (std::fabs(x) < kErfReach * kRootTwo) erf = ErfBySeries(x, x * x, kRootTwoByPi);
  return {x * (1 + erf) / 2, std::fabs(x) * 0x1p-42};
}

// u has an error of some 2^-49 of itself, which moves a sigmoid of 2 u by less than 2^-48: |u|
// times the slope is below 1/4.
Estimate EstimateGeluByTanh(double x) {
  if (std::fabs(x) > 0x1p10) return kUnknown;
  const double u = kRootTwoByPi * (x + 0.044715 * x * x * x);
  return {x * EstimateSigmoid(2 * u).value, std::fabs(x) * 0x1p-44};
}

Estimate EstimateSoftplus(double x) {
  const DoubleDouble decay = ExpOfNegative(std::fabs(x));
  const DoubleDouble sum = DoubleDouble{1, 0} + decay;
  const Estimate logarithm = Logarithm(sum, std::log1p(decay.high));
  const double value = x > 0 ? x + logarithm.value : logarithm.value;
  return {value, logarithm.error + std::fabs(value) * 0x1p-52};
}

// x / (1 + 2 / n) with n = e^x (e^x + 2), in e^-x above zero: nothing cancels.
Estimate EstimateMish(double x) {
  const double e = Decay(x);
  const double value =
      x > 0 ? x / (1 + 2 * e * e / (1 + 2 * e)) : x * (e * (e + 2)) / (e * (e + 2) + 2);
  return {value, std::fabs(value) * 0x1p-47 + std::fabs(x) * kNothing};
}

}  // namespace qtx::backend::engine
