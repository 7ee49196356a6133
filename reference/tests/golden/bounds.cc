#include "tests/golden/bounds.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "qtx/format/einsum.h"
#include "tests/golden/norm_bounds.h"
#include "tests/golden/numbers.h"
#include "tests/golden/recurrent_bounds.h"

namespace qtx::reference::golden {
namespace {

template <int kUnits>
double Constant(const NodeRun&) {
  return kUnits;
}

double Count(const format::Tensor& tensor) {
  return static_cast<double>(format::ElementCount(tensor));
}

double Count0(const NodeRun& run) { return Count(*run.inputs[0]); }
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

// Places of all names over those of the result: a product of n factors and its addition each.
double EinsumTerms(const NodeRun& run) {
  const auto equation = *format::ReadEinsumEquation(run.node.StringOr("equation", ""));
  std::map<std::int32_t, std::int64_t> sizes;
  for (std::size_t i = 0; i < run.inputs.size(); ++i) {
    const format::Dims& dims = run.inputs[i]->dims;
    const std::string& term = equation.inputs[i];
    const auto labels = format::EinsumLabelsOf(term, std::ssize(dims) + 1 - std::ssize(term));
    for (std::size_t k = 0; k < dims.size(); ++k) {
      std::int64_t& size = sizes[labels[k]];
      size = std::max(size, dims[k]);
    }
  }
  double places = 1;
  for (const auto& [label, size] : sizes) places *= static_cast<double>(size);
  return places / std::max(1.0, Count(run.output)) + static_cast<double>(run.inputs.size()) - 1;
}

// Linear interpolation, axis by axis: a weight and its complement rounded, two products, one sum.
double ResizeTerms(const NodeRun& run) {
  return 5 * static_cast<double>(run.inputs[0]->dims.size());
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

double Largest(const NodeRun& run) {
  double largest = 0;
  for (const double value : ToDoubles(*run.inputs[0])) {
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  }
  return largest;
}

double Inputs(const NodeRun& run) { return static_cast<double>(run.inputs.size()); }
double InputsAndDivision(const NodeRun& run) { return Inputs(run) + 1; }
// A sum of squares rounds each square as well.
double Squared(const NodeRun& run) { return Reduced(run) + 1; }

// e^d with d rounded (|d| u), the library's error, a sum of n such terms, their quotient.
double SoftmaxUnits(const NodeRun& run) {
  return 2 * (Range(run) + kLibrary) + Count(*run.inputs[0]) + 1;
}

// d - log(sum of e^d): d rounded (|d| u), the sum as in Softmax, log of at most n.
double LogSoftmaxUnits(const NodeRun& run) {
  const double n = Count(*run.inputs[0]);
  return 2 * Range(run) + kLibrary + n + kLibrary * std::log(std::max(1.0, n));
}

// log of a sum of n positive terms of relative error k is off by (n + k) u, and by the library's
// own relative error.
double LogSumUnits(const NodeRun& run) { return Reduced(run); }
double LogSumExpUnits(const NodeRun& run) { return Reduced(run) + kLibrary + 2 * Range(run); }

// alpha (e^z - 1), z = x / alpha rounded (|z e^z| < 1) and not positive: the library's error of e^z
// <= 1 and the subtraction, each times alpha.
double ExponentialUnits(const NodeRun& run) {
  return std::abs(run.node.FloatOr("alpha", 1.0F)) * (kLibrary + 2);
}
double SeluUnits(const NodeRun& run) {
  return std::abs(run.node.FloatOr("alpha", 1.67326319217681884765625F) *
                  run.node.FloatOr("gamma", 1.05070102214813232421875F)) *
         (kLibrary + 2);
}

// x alpha + beta between 0 and 1: the product is at most 1 + |beta|; both constants are rounded.
double HardSigmoidUnits(const NodeRun& run) {
  return 2 * (1 + 2 * std::abs(run.node.FloatOr("beta", 0.5F)));
}
// A coordinate c of an axis of n elements takes a sum, a product, a difference and a quotient of at
// most |c| + n; weights differ by as much, and one more rounding, each times the elements beside.
// Then as many products as corners, each of a weight for every axis; the weights add up to 1.
double GridSampleUnits(const NodeRun& run) {
  if (run.node.StringOr("mode", "") == "nearest") return 0;
  const format::Dims& dims = run.inputs[0]->dims;
  const std::size_t axes = dims.size() - 2;
  double farthest = 1, errors = static_cast<double>((std::size_t{1} << axes) + axes + 1);
  for (const double g : ToDoubles(*run.inputs[1])) farthest = std::max(farthest, std::abs(g));
  for (std::size_t i = 2; i < dims.size(); ++i) {
    errors += 8 * (farthest + 1) * static_cast<double>(dims[i]);
  }
  return errors * Largest(run);
}
// A sum of positive squares (a rounding for each square and addition), times alpha over size, plus
// bias: that many relative errors, times beta in the power, the library's error and the product.
double LrnRelative(const NodeRun& run) {
  const auto size = static_cast<double>(run.node.IntOr("size", 1));
  return std::abs(run.node.FloatOr("beta", 0.75F)) * (size + 3) + kLibrary + 1;
}
// x times it, alpha = 1/6 and beta = 1/2.
double HardSwishUnits(const NodeRun& run) { return 4 * Largest(run); }

// x/2 (1 + erf(x / sqrt 2)) or x/2 (1 + tanh(polynomial)): the argument's relative error, at most 6
// units, acts by |z f'(z)| < 1/2; the library's error; the sum of two numbers of at most 2.
double GeluUnits(const NodeRun& run) { return Largest(run) / 2 * (3 + kLibrary + 2); }
// x tanh(log(1 + e^x)): log is off by 9 units and its library error, tanh by no more, and its own.
double MishUnits(const NodeRun& run) { return Largest(run) * (2 * kLibrary + 9 + kLibrary); }
// x / (1 + e^-z), z = alpha x rounded (|z| u in the exponential).
double SwishUnits(const NodeRun& run) {
  return std::abs(run.node.FloatOr("alpha", 1.0F)) * Largest(run) + kLibrary + 3;
}

// Sorted by op_type. Operators of one IEEE operation (Add, Div, Sqrt, Reciprocal, ...) and those
// that only choose or move elements have no row: every bit must agree.
constexpr std::array kBounds = {
    Bound{"Acos", Constant<kLibrary>},
    Bound{"Acosh", Constant<kLibrary>},
    Bound{"Asin", Constant<kLibrary>},
    Bound{"Asinh", Constant<kLibrary>},
    Bound{"Atan", Constant<kLibrary>},
    Bound{"Atanh", Constant<kLibrary>},
    // A sum of the window's elements and one division.
    Bound{"AveragePool", nullptr, Window},
    Bound{"BatchNormalization", Constant<7>, nullptr, BatchNormUnits, Spread::kUnknown},
    Bound{"Celu", Constant<2>, nullptr, ExponentialUnits},
    // A sum of products; each has the rounding of its product and of at most n - 1 additions.
    Bound{"Conv", nullptr, ConvTerms, nullptr, Spread::kProducts},
    Bound{"Cos", Constant<kLibrary>, nullptr, nullptr, Spread::kUnknown},
    Bound{"Cosh", Constant<kLibrary>, nullptr, nullptr, Spread::kUnknown},
    Bound{"CumProd", Count0, nullptr, nullptr},
    Bound{"CumSum", nullptr, Count0},
    // y_scale, its second output: a difference and a quotient.
    Bound{"DynamicQuantizeLinear", Constant<2>, nullptr, nullptr, Spread::kUnknown},
    Bound{"Einsum", nullptr, EinsumTerms, nullptr, Spread::kProducts},
    Bound{"Elu", Constant<2>, nullptr, ExponentialUnits},
    Bound{"Erf", Constant<kLibrary>},
    Bound{"Exp", Constant<kLibrary>},
    Bound{"GRU", nullptr, nullptr, GruUnits, Spread::kUnknown},
    Bound{"Gelu", Constant<2>, nullptr, GeluUnits, Spread::kUnknown},
    Bound{"Gemm", nullptr, GemmTerms, nullptr, Spread::kProducts},
    Bound{"GlobalAveragePool", nullptr, Averaged},
    Bound{"GridSample", nullptr, nullptr, GridSampleUnits, Spread::kUnknown},
    Bound{"GroupNormalization", GroupNormRelative, nullptr, GroupNormUnits, Spread::kUnknown},
    Bound{"HardSigmoid", Constant<1>, nullptr, HardSigmoidUnits},
    Bound{"HardSwish", Constant<2>, nullptr, HardSwishUnits, Spread::kUnknown},
    Bound{"InstanceNormalization", InstanceNormRelative, nullptr, InstanceNormUnits,
          Spread::kUnknown},
    Bound{"LRN", LrnRelative, nullptr, nullptr, Spread::kUnknown},
    Bound{"LSTM", nullptr, nullptr, LstmUnits, Spread::kUnknown},
    Bound{"LayerNormalization", LayerNormRelative, nullptr, LayerNormUnits, Spread::kUnknown},
    Bound{"Log", Constant<kLibrary>},
    Bound{"LogSoftmax", Constant<1>, nullptr, LogSoftmaxUnits, Spread::kUnknown},
    Bound{"MatMul", nullptr, InnerSize, nullptr, Spread::kProducts},
    Bound{"Mean", nullptr, InputsAndDivision},
    Bound{"Mish", Constant<1>, nullptr, MishUnits, Spread::kUnknown},
    Bound{"Pow", Constant<kLibrary>},
    Bound{"RMSNormalization", RmsNormRelative, nullptr, nullptr, Spread::kUnknown},
    Bound{"ReduceL1", nullptr, Reduced},
    // The root halves a relative error and adds one.
    Bound{"ReduceL2", Squared, nullptr, nullptr},
    Bound{"ReduceLogSum", Constant<kLibrary>, nullptr, LogSumUnits},
    Bound{"ReduceLogSumExp", Constant<kLibrary>, nullptr, LogSumExpUnits},
    Bound{"ReduceMean", nullptr, Averaged},
    Bound{"ReduceProd", Reduced, nullptr, nullptr},
    Bound{"ReduceSum", nullptr, Reduced},
    Bound{"ReduceSumSquare", Squared, nullptr, nullptr},
    // Nearest elements are moved, which the bound of the linear mode includes.
    Bound{"Resize", nullptr, ResizeTerms},
    Bound{"Selu", Constant<3>, nullptr, SeluUnits},
    // 1 / (1 + e^-x): the library's error, a sum, a quotient.
    Bound{"Sigmoid", Constant<kLibrary + 2>},
    Bound{"Sin", Constant<kLibrary>, nullptr, nullptr, Spread::kUnknown},
    Bound{"Sinh", Constant<kLibrary>},
    Bound{"Softmax", SoftmaxUnits, nullptr, nullptr, Spread::kUnknown},
    // log(1 + e^x).
    Bound{"Softplus", Constant<kLibrary>, nullptr, Constant<kLibrary + 1>},
    Bound{"Softsign", Constant<2>},
    Bound{"Sum", nullptr, Inputs},
    Bound{"Swish", SwishUnits, nullptr, nullptr, Spread::kUnknown},
    Bound{"Tan", Constant<kLibrary>, nullptr, nullptr, Spread::kUnknown},
    Bound{"Tanh", Constant<kLibrary>},
};

}  // namespace

std::span<const Bound> Bounds() { return kBounds; }

const Bound& BoundOf(std::string_view op_type) {
  static constexpr Bound kToTheBit{};
  const auto found = std::ranges::find(kBounds, op_type, &Bound::op_type);
  return found == kBounds.end() ? kToTheBit : *found;
}

}  // namespace qtx::reference::golden
