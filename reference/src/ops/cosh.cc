#include <cmath>
#include <limits>

#include "ops/registry.h"
#include "ops/unary.h"

namespace qtx::reference::ops {
namespace {

// libm's cosh is within 2 ulp, 4 units (glibc manual, "Known Maximum Errors"); 4 ulp are allowed.
// Where it would overflow the value is finite all the same, and left to the interval.
Approximation ApproximateCosh(double x) {
  if (std::isfinite(x) && std::abs(x) > 709) return {0, std::numeric_limits<double>::infinity()};
  return Within(std::cosh(x), 8);
}

// Source: cosh.S1 to cosh.S3.
Result<format::Tensor> Cosh(const Call& call) {
  return RunUnary(call, {.enclose = [](Interval x) { return reference::Cosh(std::move(x)); },
                         .approximate = ApproximateCosh});
}

}  // namespace

const Operator kCosh = {.op_type = "Cosh", .run = Cosh};

}  // namespace qtx::reference::ops
