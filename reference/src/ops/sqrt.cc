#include <cmath>

#include "ops/registry.h"
#include "ops/unary.h"

namespace qtx::reference::ops {
namespace {

// IEEE 754's square root is correctly rounded: 1 unit; NaN below zero, zero at -0. A rational root
// of a dyadic of 64 bits has 32 bits: the interval holds it exactly, and so a tie.
// Source: sqrt.S1 to sqrt.S3.
Result<format::Tensor> Sqrt(const Call& call) {
  const RealFunction root = {.enclose = [](Interval x) { return reference::Sqrt(std::move(x)); },
                             .approximate = [](double x) { return Within(std::sqrt(x), 1); }};
  return RunUnary(call, root);
}

}  // namespace

const Operator kSqrt = {.op_type = "Sqrt", .run = Sqrt};

}  // namespace qtx::reference::ops
