#include "engine/ops/function.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "engine/ops/estimate.h"

namespace qtx::backend::engine {
namespace {

using Enclosure = Interval (*)(const Interval&);

const Number kZero;
Number One() { return Number::Of(1); }

// A function with known limits that is rational nowhere but at `point`.
struct Transcendental {
  Enclosure enclose;
  Number low, high;  // at minus infinity and infinity
  mpq_class point, at_point;
  Estimate (*estimate)(double) = nullptr;
};

// The same value without intervals, if x is a double.
void SetEstimate(Real& y, const mpq_class& x, Estimate (*estimate)(double)) {
  const double value = x.get_d();
  if (!std::isfinite(value) || mpq_class(value) != x) return;
  const Estimate estimated = estimate(value);
  y.estimate = estimated.value;
  y.error = estimated.error;
}

Real Apply(const Transcendental& f, const Number& x) {
  if (x.nan()) return x;
  if (!x.finite()) return x.Sign() < 0 ? f.low : f.high;
  if (x.value() == f.point) return Number(f.at_point);
  Real y = Real::Enclosed([enclose = f.enclose, value = x.value()](mpfr_prec_t bits) {
    return enclose(Interval(value, bits));
  });
  if (f.estimate != nullptr) SetEstimate(y, x.value(), f.estimate);
  return y;
}

Interval Integer(long value, const Interval& like) { return {mpq_class(value), like.bits()}; }

// x / (1 + 2 / n) with n = e^x (e^x + 2): tanh(ln(1 + e^x)) without cancellation or overflow.
Interval Mish(const Interval& x) {
  const Interval e = Exp(x);
  const Interval two = Integer(2, x);
  return x / (Integer(1, x) + two / (e * (e + two)));
}

// ln(1 + e^x) = x + ln(1 + e^-x), which overflows on neither side.
Interval SoftplusAbove(const Interval& x) { return x + Log1p(Exp(-x)); }
Interval SoftplusBelow(const Interval& x) { return Log1p(Exp(x)); }
Real Softplus(const Number& x) {
  const bool above = x.Sign() > 0;
  // ln 2 at 0 is no rational: no point.
  const mpq_class nowhere = x.finite() ? mpq_class(x.value() + 1) : mpq_class();
  return Apply({above ? SoftplusAbove : SoftplusBelow, kZero, x, nowhere, 0, EstimateSoftplus}, x);
}

// 1 + erf(t) = erfc(-t): below zero nothing cancels.
Interval Gelu(const Interval& x) {
  const Interval root = Sqrt(Integer(2, x));
  return x * Erfc(-x / root) / Integer(2, x);
}
// (1 + tanh(u)) / 2 = 1 / (1 + e^(-2u)).
Interval GeluByTanh(const Interval& x) {
  const Interval root = Sqrt(Integer(2, x) / Interval::Pi(x.bits()));
  const Interval cubic(mpq_class(44715, 1000000), x.bits());
  const Interval u = root * (x * (Integer(1, x) + cubic * x * x));
  return x * Interval::Sigmoid(Integer(2, x) * u);
}

Interval ExpOf(const Interval& x) { return Exp(x); }
Interval ErfOf(const Interval& x) { return Erf(x); }
Interval TanhInterval(const Interval& x) { return Tanh(x); }
Interval LogOf(const Interval& x) { return Log(x); }

Real LogarithmOf(const Number& x) {
  if (x.nan() || x.Sign() < 0) return Number::Nan();
  if (x.Sign() == 0) return Number::Infinity(-1);
  return Apply({LogOf, kZero, Number::Infinity(1), 1, 0, EstimateLog}, x);
}

Real EluOf(const Number& x, const mpq_class& alpha) {
  if (x.nan() || x.Sign() >= 0) return x;
  if (!x.finite()) return -Number(alpha);
  if (sgn(alpha) == 0) return kZero;
  Real y = Real::Enclosed([alpha, value = x.value()](mpfr_prec_t bits) {
    return Interval(alpha, bits) * Expm1(Interval(value, bits));
  });
  SetEstimate(y, x.value(), EstimateExpm1);
  const double factor = alpha.get_d();  // a binary32
  y.estimate *= factor;
  y.error *= std::fabs(factor) * 2;
  return y;
}

Number HardSwishOf(const Number& x) {
  if (!x.finite()) return x.nan() || x.Sign() > 0 ? x : kZero;
  if (x.value() <= -3) return kZero;
  if (x.value() >= 3) return x;
  return mpq_class(x.value() * (x.value() + 3) / 6);
}

Number HardSigmoidOf(const Number& x, const Number& alpha, const Number& beta) {
  return Greater(kZero, Lesser(One(), alpha * x + beta));
}

Number LeakyReluOf(const Number& x, const Number& slope) { return x.Sign() < 0 ? slope * x : x; }

Number Parameter(const NodePlan& node, const char* name) {
  return Number::OfDouble(node.Float(name));
}

Function GeluFunction(const NodePlan& node) {
  const bool exact = node.String("approximate") == "none";
  return Function([exact](const Number& x) {
    return Apply({exact ? Gelu : GeluByTanh, kZero, Number::Infinity(1), 0, 0,
                  exact ? EstimateGelu : EstimateGeluByTanh},
                 x);
  });
}

Result<Function> WithParameters(const NodePlan& node) {
  const std::string& op = node.node().op_type;
  if (op == "Gelu") return GeluFunction(node);
  if (op != "LeakyRelu" && op != "Elu" && op != "HardSigmoid") {
    return node.Unsupported("no such function here");
  }
  const Number alpha = Parameter(node, "alpha");
  if (op == "LeakyRelu") {
    return Function([alpha](const Number& x) -> Real { return LeakyReluOf(x, alpha); });
  }
  if (op == "Elu") return Function([alpha](const Number& x) { return EluOf(x, alpha.value()); });
  const Number beta = Parameter(node, "beta");
  return Function([=](const Number& x) -> Real { return HardSigmoidOf(x, alpha, beta); });
}

}  // namespace

Real SigmoidOf(const Number& x) {
  return Apply({Interval::Sigmoid, kZero, One(), 0, mpq_class(1, 2), EstimateSigmoid}, x);
}
Real TanhOf(const Number& x) { return Apply({TanhInterval, -One(), One(), 0, 0, EstimateTanh}, x); }

Real RootOf(const Number& x, unsigned long n) {
  if (x.nan() || x.Sign() < 0) return Number::Nan();
  if (!x.finite()) return x;
  if (const auto root = RationalRoot(x.value(), n)) return Number(*root);
  return Real::Enclosed([n, value = x.value()](mpfr_prec_t bits) {
    const Interval interval(value, bits);
    return n == 2 ? Sqrt(interval) : Root(interval, n);
  });
}

Result<Function> FunctionOf(const NodePlan& node) {
  struct NamedFunction {
    std::string_view op_type;
    Real (*apply)(const Number&);
  };
  static constexpr std::array kFunctions{
      NamedFunction{"Abs", [](const Number& x) -> Real { return Magnitude(x); }},
      NamedFunction{"Erf",
                    [](const Number& x) {
                      return Apply({ErfOf, -One(), One(), 0, 0, EstimateErf}, x);
                    }},
      NamedFunction{"Exp",
                    [](const Number& x) {
                      return Apply({ExpOf, kZero, Number::Infinity(1), 0, 1, EstimateExp}, x);
                    }},
      NamedFunction{"HardSwish", [](const Number& x) -> Real { return HardSwishOf(x); }},
      NamedFunction{"Identity", [](const Number& x) -> Real { return x; }},
      NamedFunction{"Log", LogarithmOf},
      NamedFunction{"Mish",
                    [](const Number& x) {
                      return Apply({Mish, kZero, Number::Infinity(1), 0, 0, EstimateMish}, x);
                    }},
      NamedFunction{"Neg", [](const Number& x) -> Real { return -x; }},
      NamedFunction{"Reciprocal", [](const Number& x) -> Real { return One() / x; }},
      NamedFunction{"Relu", [](const Number& x) -> Real { return Greater(x, kZero); }},
      NamedFunction{"Sigmoid", SigmoidOf},
      NamedFunction{"Softplus", Softplus},
      NamedFunction{"Sqrt", [](const Number& x) { return RootOf(x, 2); }},
      NamedFunction{"Tanh", TanhOf},
  };
  const auto* found = std::ranges::find(kFunctions, node.node().op_type, &NamedFunction::op_type);
  if (found == kFunctions.end()) return WithParameters(node);
  return Function(found->apply);
}

}  // namespace qtx::backend::engine
