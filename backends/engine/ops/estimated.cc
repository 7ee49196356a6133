#include "engine/ops/estimated.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace qtx::backend::engine {
namespace {

constexpr double kHalfUlp = 0x1p-53;       // of a result, relative
constexpr double kTiny = 0x1p-1000;        // more than what underflow takes
constexpr double kSlack = 1 + 0x1p-48;     // more than the roundings of a bound of few operations
constexpr double kDotSlack = 1 + 0x1p-20;  // and of a sum of at most 2^26 terms

// A function at an estimated place x, given its slope as a function of its value, and the most that
// slope changes by with the place: the slope between x and the true place is at most that at x plus
// `bend` times their distance.
template <typename Slope>
Estimate Applied(Estimate (*function)(double), Slope slope, double bend, const Estimate& x) {
  if (!std::isfinite(x.value) || !(x.error < 1)) {
    return {0, std::numeric_limits<double>::infinity()};
  }
  Estimate y = function(x.value);
  const double steepest = slope(y.value) + 2 * y.error + bend * x.error;
  y.error = (y.error + steepest * x.error) * kSlack;
  return y;
}

// True if it is certain that `value`, finite, is the product of the term's parts and not rounded.
bool IsProduct(double value, const Term& term) {
  if (term.integer == 0) return std::isfinite(term.scale);
  return std::fabs(value) > 0x1p-900 && std::fma(term.integer, term.scale, -value) == 0;
}

// s' = s (1 - s), |s''| < 0.1; t' = 1 - t^2, |t''| < 0.8.
Estimate SigmoidBy(Estimate (*function)(double), const Estimate& x) {
  return Applied(
      function, [](double s) { return std::max(s * (1 - s), 0.0) + kHalfUlp; }, 0.1, x);
}
Estimate TanhBy(Estimate (*function)(double), const Estimate& x) {
  return Applied(
      function, [](double t) { return std::max(1 - t * t, 0.0) + 2 * kHalfUlp; }, 0.8, x);
}

}  // namespace

Estimate operator+(const Estimate& a, const Estimate& b) {
  const double value = a.value + b.value;
  return {value, (a.error + b.error + std::fabs(value) * kHalfUlp) * kSlack};
}

Estimate operator*(const Estimate& a, const Estimate& b) {
  const double value = a.value * b.value;
  const double error = std::fabs(a.value) * b.error + a.error * (std::fabs(b.value) + b.error);
  return {value, (error + std::fabs(value) * kHalfUlp) * kSlack + kTiny};
}

Estimate operator-(const Estimate& a) { return {-a.value, a.error}; }

Estimate SigmoidOf(const Estimate& x) { return SigmoidBy(QuickSigmoid, x); }
Estimate TanhOf(const Estimate& x) { return TanhBy(QuickTanh, x); }
Estimate CarefulSigmoidOf(const Estimate& x) { return SigmoidBy(EstimateSigmoid, x); }
Estimate CarefulTanhOf(const Estimate& x) { return TanhBy(EstimateTanh, x); }
Estimate ReluOf(const Estimate& x) { return {std::max(x.value, 0.0), x.error}; }

Estimate Clamped(const Estimate& x, const mpq_class& bound) {
  const double most = bound.get_d();
  return {std::clamp(x.value, -most, most), x.error};
}

// A sum of n + 1 terms, one after another, errs by at most (n + 1) u / (1 - (n + 1) u) times the
// sum of their magnitudes, and their products by u each: N. J. Higham, "Accuracy and Stability of
// Numerical Algorithms", section 4.2.
// That holds in any order: four sums at a time, as each waits for its last addition.
Estimate Dot(std::span<const Estimate> row, std::span<const Estimate> vector, Estimate sum) {
  constexpr std::size_t kChains = 4;
  std::array<double, kChains> values{}, magnitudes{}, errors{};
  const auto add = [&](std::size_t chain, const Estimate& a, const Estimate& b) {
    const double product = a.value * b.value;
    values[chain] += product;
    magnitudes[chain] += std::fabs(product);
    errors[chain] += std::fabs(a.value) * b.error + a.error * (std::fabs(b.value) + b.error);
  };
  std::size_t i = 0;
  for (; i + kChains <= row.size(); i += kChains) {
    for (std::size_t k = 0; k < kChains; ++k) add(k, row[i + k], vector[i + k]);
  }
  for (; i < row.size(); ++i) add(0, row[i], vector[i]);
  const auto total = [](const std::array<double, kChains>& of) {
    return (of[0] + of[1]) + (of[2] + of[3]);
  };
  const double magnitude = std::fabs(sum.value) + total(magnitudes);
  sum.value += total(values);
  sum.error += total(errors);
  const auto terms = static_cast<double>(row.size() + kChains + 3);
  sum.error = (sum.error + magnitude * terms * 2 * kHalfUlp) * kDotSlack + terms * kTiny;
  return sum;
}

std::vector<Estimate> EstimatedOf(const format::Tensor& tensor) {
  std::vector<Estimate> values;
  for (const Term& term : RealsOf(tensor)) {
    const double value = term.integer * term.scale;
    if (!std::isfinite(value)) {
      values.push_back({0, std::numeric_limits<double>::infinity()});
    } else if (IsProduct(value, term)) {
      values.push_back({value, 0});
    } else {
      values.push_back({value, std::fabs(value) * kHalfUlp * kSlack});
    }
  }
  return values;
}

}  // namespace qtx::backend::engine
