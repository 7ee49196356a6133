#include <cmath>
#include <limits>

#include "ops/registry.h"
#include "ops/unary.h"

namespace qtx::reference::ops {
namespace {

// libm's sinh is within 2 ulp, 4 units (glibc manual, "Known Maximum Errors"); 4 ulp are allowed.
// Where it would overflow the value is finite all the same, and left to the interval.
Approximation ApproximateSinh(double x) {
  if (std::isfinite(x) && std::abs(x) > 709) return {0, std::numeric_limits<double>::infinity()};
  return Within(std::sinh(x), 8);
}

// Source: sinh.S1 to sinh.S3.
Result<format::Tensor> Sinh(const Call& call) {
  return RunUnary(call, {.enclose = [](Interval x) { return reference::Sinh(std::move(x)); },
                         .approximate = ApproximateSinh});
}

}  // namespace

const Operator kSinh = {.op_type = "Sinh", .run = Sinh};

}  // namespace qtx::reference::ops
