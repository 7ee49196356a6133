#include "tests/golden/recurrent_bounds.h"

#include <algorithm>
#include <cmath>

#include "tests/golden/numbers.h"

namespace qtx::reference::golden {
namespace {

constexpr double kSigmoid = 10;
constexpr double kTanh = 8;

std::vector<double> ValuesOf(const NodeRun& run, std::size_t input) {
  if (input >= run.inputs.size() || run.inputs[input] == nullptr) return {};
  return ToDoubles(*run.inputs[input]);
}

double LargestOf(const NodeRun& run, std::size_t input) {
  double largest = 0;
  for (const double value : ValuesOf(run, input)) largest = std::max(largest, std::abs(value));
  return largest;
}

// The greatest sum of magnitudes of a row.
double RowSum(const NodeRun& run, std::size_t input) {
  const std::vector<double> values = ValuesOf(run, input);
  const auto size = static_cast<std::size_t>(run.inputs[input]->dims[2]);
  double largest = 0;
  for (std::size_t first = 0; first < values.size(); first += size) {
    double sum = 0;
    for (std::size_t k = 0; k < size; ++k) sum += std::abs(values[first + k]);
    largest = std::max(largest, sum);
  }
  return largest;
}

struct Sums {
  double terms, fixed, recurrent, h;  // n; what x and the biases reach; R; H
  std::int64_t steps;
};

Sums SumsOf(const NodeRun& run) {
  const format::Dims& x = run.inputs[0]->dims;
  Sums sums{};
  sums.terms = static_cast<double>(x[2] + run.inputs[2]->dims[2] + 5);
  sums.fixed = LargestOf(run, 0) * RowSum(run, 1) + 2 * LargestOf(run, 3);
  sums.recurrent = RowSum(run, 2);
  sums.h = std::max(1.0, LargestOf(run, 5));
  sums.steps = x[run.node.IntOr("layout", 0) == 0 ? 0 : 1];
  return sums;
}

}  // namespace

// |h| <= 1 after the first step, |C| grows by at most 1 with each. i and f have d = gate, the
// candidate d = tanh.
double LstmUnits(const NodeRun& run) {
  const Sums sums = SumsOf(run);
  const double peephole = LargestOf(run, 7);
  double cell = LargestOf(run, 6), d_cell = 0, d_h = 0;
  for (std::int64_t t = 0; t < sums.steps; ++t) {
    const double magnitude = sums.fixed + sums.recurrent * sums.h + peephole * (cell + 1);
    const double sum = sums.terms * magnitude + sums.recurrent * d_h;
    const double gate = (sum + peephole * d_cell) / 4 + kSigmoid;
    d_cell += cell * gate + gate + sum + kTanh + 2 * cell + 2;
    cell += 1;
    const double output = (sum + peephole * d_cell) / 4 + kSigmoid;
    d_h = output + d_cell + kTanh + 1;
  }
  return 1.1 * std::max(d_h, d_cell);
}

// |h| <= H. z and r have d = gate; 1 - z rounds once more. R h is at most R H, with or without r.
double GruUnits(const NodeRun& run) {
  const Sums sums = SumsOf(run);
  double d_h = 0;
  for (std::int64_t t = 0; t < sums.steps; ++t) {
    const double magnitude = sums.fixed + sums.recurrent * sums.h;
    const double sum = sums.terms * magnitude + sums.recurrent * d_h;
    const double gate = sum / 4 + kSigmoid;
    // r times h, or times R h and its bias: gate more of what it multiplies, and its rounding.
    const double candidate = sum + (gate + 1) * magnitude + kTanh;
    d_h = (gate + 1) + candidate + sums.h * gate + d_h + 2 * sums.h + 1;
  }
  return 1.1 * d_h;
}

}  // namespace qtx::reference::golden
