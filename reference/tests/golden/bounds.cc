#include "tests/golden/bounds.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "tests/golden/numbers.h"

namespace qtx::reference::golden {
namespace {

template <int kUnits>
double Constant(const NodeRun&) {
  return kUnits;
}

double Count(const format::Tensor& tensor) {
  return static_cast<double>(format::ElementCount(tensor));
}

// Elements of input 0 for each result.
double Reduced(const NodeRun& run) {
  return Count(*run.inputs[0]) / std::max(1.0, Count(run.output));
}
// A mean divides once more.
double Averaged(const NodeRun& run) { return Reduced(run) + 1; }

double Window(const NodeRun& run) {
  double count = 1;  // the division
  double product = 1;
  for (const std::int64_t size : run.node.IntsOr("kernel_shape", {})) {
    product *= static_cast<double>(size);
  }
  return count + product;
}

// Weights of one filter, and the bias.
double ConvTerms(const NodeRun& run) {
  const format::Tensor& w = *run.inputs[1];
  return Count(w) / static_cast<double>(std::max<std::int64_t>(1, w.dims[0])) + 1;
}

double InnerSize(const NodeRun& run) {
  const format::Dims& a = run.inputs[0]->dims;
  return static_cast<double>(a.back());
}

// Two more products, by alpha and beta, and one sum.
double GemmTerms(const NodeRun& run) {
  const format::Dims& a = run.inputs[0]->dims;
  return static_cast<double>(run.node.IntOr("transA", 0) != 0 ? a[0] : a[1]) + 3;
}

// Greatest minus least finite input: what exp's argument can reach after the maximum is taken off.
double Range(const NodeRun& run) {
  double low = 0;
  double high = 0;
  bool first = true;
  for (const double value : ToDoubles(*run.inputs[0])) {
    if (!std::isfinite(value)) continue;
    low = first ? value : std::min(low, value);
    high = first ? value : std::max(high, value);
    first = false;
  }
  return high - low;
}

// Relative error of a library's exp, log, tanh, ...: NumPy states at most 4 ulp for its binary32
// vector loops, an ulp is at most 2 u.
constexpr int kLibrary = 8;

// e^d with d rounded (|d| u), the library's error, a sum of n such terms, their quotient.
double SoftmaxUnits(const NodeRun& run) {
  return 2 * (Range(run) + kLibrary) + Count(*run.inputs[0]) + 1;
}

// d - log(sum of e^d): d rounded (|d| u), the sum as in Softmax, log of at most n.
double LogSoftmaxUnits(const NodeRun& run) {
  const double n = Count(*run.inputs[0]);
  return 2 * Range(run) + kLibrary + n + kLibrary * std::log(std::max(1.0, n));
}

// Sorted by op_type.
constexpr std::array kBounds = {
    // A sum of the window's elements and one division.
    Bound{"AveragePool", nullptr, Window},
    // A sum of products; each has the rounding of its product and of at most n - 1 additions.
    Bound{"Conv", nullptr, ConvTerms, nullptr, Spread::kProducts},
    Bound{"Gemm", nullptr, GemmTerms, nullptr, Spread::kProducts},
    Bound{"GlobalAveragePool", nullptr, Averaged},
    Bound{"LogSoftmax", Constant<1>, nullptr, LogSoftmaxUnits, Spread::kUnknown},
    Bound{"MatMul", nullptr, InnerSize, nullptr, Spread::kProducts},
    Bound{"Softmax", SoftmaxUnits, nullptr, nullptr, Spread::kUnknown},
};

}  // namespace

std::span<const Bound> Bounds() { return kBounds; }

const Bound& BoundOf(std::string_view op_type) {
  static constexpr Bound kToTheBit{};
  const auto found = std::ranges::find(kBounds, op_type, &Bound::op_type);
  return found == kBounds.end() ? kToTheBit : *found;
}

}  // namespace qtx::reference::golden
