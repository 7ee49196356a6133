#include <cmath>

#include "ops/registry.h"
#include "ops/unary.h"

namespace qtx::reference::ops {
namespace {

// Source: abs.S1, abs.S2.
Result<format::Tensor> Abs(const Call& call) {
  const RealFunction magnitude = {.rational = [](const Rational& x) { return Rational(::abs(x)); },
                                  .approximate = [](double x) { return Within(std::abs(x), 0); }};
  return RunUnary(call, magnitude);
}

}  // namespace

const Operator kAbs = {.op_type = "Abs", .run = Abs};

}  // namespace qtx::reference::ops
