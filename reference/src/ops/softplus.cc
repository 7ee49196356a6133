#include <cmath>

#include "ops/registry.h"
#include "ops/unary.h"

namespace qtx::reference::ops {
namespace {

// log(1 + e^x), for x > 0 as x + log(1 + e^-x): nothing overflows.
Interval EncloseSoftplus(Interval x) {
  if (x.IsNegative()) return Log1p(Exp(std::move(x)));
  return x + Log1p(Exp(Interval(0, x.bits()) - x));
}

// The power is at most 1, so that its relative error reaches log1p's at most whole. libm's exp and
// log1p are within 1 ulp, 2 units each (glibc manual, "Known Maximum Errors"); 4 ulp each are
// allowed, and 1 unit for the sum of positive terms.
Approximation ApproximateSoftplus(double x) {
  return Within(std::log1p(std::exp(-std::abs(x))) + (x > 0 ? x : 0), 18);
}

// Source: softplus.S1 to softplus.S3.
Result<format::Tensor> Softplus(const Call& call) {
  return RunUnary(call, {.enclose = EncloseSoftplus, .approximate = ApproximateSoftplus});
}

}  // namespace

const Operator kSoftplus = {.op_type = "Softplus", .run = Softplus};

}  // namespace qtx::reference::ops
