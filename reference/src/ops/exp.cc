#include <cmath>
#include <limits>

#include "ops/registry.h"
#include "ops/unary.h"

namespace qtx::reference::ops {
namespace {

// libm's exp is within 1 ulp, 2 units (glibc manual, "Known Maximum Errors"); 4 ulp are allowed.
// Where it would overflow e^x is finite all the same, and left to the interval.
Approximation ApproximateExp(double x) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (x > 709 && x != kInfinity) return {0, kInfinity};
  return Within(std::exp(x), 8);
}

// Source: exp.S1 to exp.S3.
Result<format::Tensor> Exp(const Call& call) {
  return RunUnary(call, {.enclose = [](Interval x) { return reference::Exp(std::move(x)); },
                         .approximate = ApproximateExp});
}

}  // namespace

const Operator kExp = {.op_type = "Exp", .run = Exp};

}  // namespace qtx::reference::ops
