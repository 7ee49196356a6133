#include <cmath>

#include "ops/registry.h"
#include "ops/unary.h"

namespace qtx::reference::ops {
namespace {

Interval EncloseSigmoid(const Interval& x) {
  const Interval one(1, x.bits());
  return one / (one + Exp(Interval(0, x.bits()) - x));
}

// libm's exp is within 1 ulp, 2 units (glibc manual, "Known Maximum Errors"); the addition of
// positive terms and the division add one each.
Approximation ApproximateSigmoid(double x) { return Within(1 / (1 + std::exp(-x)), 8); }

// Source: sigmoid.S1.
Result<format::Tensor> Sigmoid(const Call& call) { return RunUnary(call, SigmoidFunction()); }

}  // namespace

const Operator kSigmoid = {.op_type = "Sigmoid", .run = Sigmoid};

}  // namespace qtx::reference::ops

namespace qtx::reference {

RealFunction SigmoidFunction() {
  return {.enclose = ops::EncloseSigmoid, .approximate = ops::ApproximateSigmoid};
}

}  // namespace qtx::reference
