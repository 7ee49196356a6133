#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "arithmetic/power.h"
#include "ops/move.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// As IEEE 754 has it, zero without a sign.
Real Times(const Real& a, const Real& b) {
  if (a.finite && b.finite) return {true, 0, a.value * b.value};
  const auto sign = [](const Real& x) { return x.finite ? sgn(x.value) : x.special; };
  return {false, sign(a) * sign(b), {}};
}

// Puts elements of x over powers of what is about them. Borrows x and the output.
class LocalNormalizer {
 public:
  LocalNormalizer(const Call& call, const Operand& x, Output* output)
      : in_binary32_(DomainFor(call.arithmetic, *output) == Domain::kFloat32),
        x_(&x),
        output_(output),
        share_(static_cast<double>(call.Float("alpha"))),
        bias_(call.Float("bias")),
        power_(-call.Float("beta")) {
    share_ /= Rational(static_cast<long>(call.Int("size")));
    share32_ = NearestFloat(share_);
  }

  /// `count` elements from `first` on, `step` apart, are the window of `element`.
  void Put(std::int64_t element, std::int64_t first, std::int64_t step, std::int64_t count) const {
    const std::int64_t end = first + count * step;
    if (in_binary32_) return PutFloat32(element, first, step, end);
    const Real base = BaseOf(SquaresOf(first, step, end));
    if (!base.finite) {
      const double power = std::pow(base.special, static_cast<double>(power_));
      const Real limit{std::isfinite(power), power, std::isfinite(power) ? Rational(power) : 0};
      return output_->PutReal(element, Times(ToReal(x_->exact(element)), limit));
    }
    if (!PutFast(element, base.value)) PutExact(element, base.value);
  }

 private:
  // lrn.S4.
  void PutFloat32(std::int64_t element, std::int64_t first, std::int64_t step,
                  std::int64_t end) const {
    float sum = 0;
    for (std::int64_t i = first; i != end; i += step) {
      const float x = x_->binary32(i);
      sum += x * x;
    }
    const float base = share32_ * sum + bias_;
    output_->PutFloat(element, x_->binary32(element) * NearestPower(base, power_));
  }

  Real SquaresOf(std::int64_t first, std::int64_t step, std::int64_t end) const {
    ExactSum sum;
    for (std::int64_t i = first; i != end; i += step) {
      const Dyadic x = x_->exact(i);
      sum.AddProduct(x, x);
    }
    return sum.Value();
  }

  Real BaseOf(Real squares) const {
    Real base = Times({true, 0, share_}, squares);
    if (base.finite) base.value += Rational(static_cast<double>(bias_));
    return base;
  }

  // With u = 2^-53: a base that errs by u makes its power err by 2 |power| u while that is at most
  // 1/2, libm's pow by 2u (glibc manual, "Known Maximum Errors"), x and the product by u each;
  // twice as much is taken, and an absolute bound for a product that is subnormal.
  bool PutFast(std::int64_t element, const Rational& base) const {
    constexpr float kMostPower = 0x1p20F;
    const Dyadic x = x_->exact(element);
    const double nearest = NearestDouble(base);
    if (x.kind != Dyadic::Kind::kFinite || std::abs(power_) > kMostPower) return false;
    if (!(nearest > 0x1p-1000 && nearest < 0x1p1000)) return false;
    const auto exponent = static_cast<double>(power_);
    const double power = std::pow(nearest, exponent);
    const double value = NearDouble(x) * power;
    if (!(power > 0x1p-1000) || !std::isfinite(value)) return false;
    const double units = 4 * std::abs(exponent) + 16;
    return output_->PutIfCertain(element, {value, std::abs(value) * units * 0x1p-53 + 0x1p-1000});
  }

  // x times a power that is irrational is no tie, but for an x of 0.
  void PutExact(std::int64_t element, const Rational& base) const {
    output_->CountFallback();
    const Real x = ToReal(x_->exact(element));
    const Power power = PowerOf(base, ToDyadic(static_cast<double>(power_)));
    if (power.exact) return output_->PutReal(element, Times(x, *power.exact));
    if (!x.finite || x.value == 0) return output_->PutReal(element, x);
    output_->PutEnclosed(element,
                         [&](int bits) { return Interval(x.value, bits) * power.enclose(bits); });
  }

  bool in_binary32_;
  const Operand* x_;
  Output* output_;
  Rational share_;  // alpha / size
  float share32_ = 0;
  float bias_;
  float power_;
};

// The windows are of channels, axis 1.  Source: lrn.S1 to lrn.S4.
Result<format::Tensor> Lrn(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Operand x, OperandAt(call, 0));
  QTX_ASSIGN_OR_RETURN(Output output, Output::Of(call));
  const format::Dims& dims = x.tensor().dims;
  const std::int64_t plane = Product(dims, 2, dims.size());
  const std::int64_t before = (call.Int("size") - 1) / 2;
  const std::int64_t after = call.Int("size") / 2;
  const LocalNormalizer normalizer(call, x, &output);
  for (std::int64_t i = 0; i < format::ElementCount(x.tensor()); ++i) {
    const std::int64_t channel = i / plane % dims[1];
    const std::int64_t first = std::max<std::int64_t>(0, channel - before);
    const std::int64_t last = std::min(dims[1] - 1, channel + after);
    normalizer.Put(i, i + (first - channel) * plane, plane, last - first + 1);
  }
  return output.Take();
}

}  // namespace

const Operator kLRN = {.op_type = "LRN", .run = Lrn};

}  // namespace qtx::reference::ops
