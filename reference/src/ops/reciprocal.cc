#include "ops/registry.h"
#include "ops/unary.h"

namespace qtx::reference::ops {
namespace {

// One correctly rounded division: 1 unit.  Source: reciprocal.S1, reciprocal.S2.
Result<format::Tensor> Reciprocal(const Call& call) {
  const RealFunction inverse = {.rational = [](const Rational& x) { return Rational(1 / x); },
                                .approximate = [](double x) { return Within(1 / x, 1); }};
  return RunUnary(call, inverse);
}

}  // namespace

const Operator kReciprocal = {.op_type = "Reciprocal", .run = Reciprocal};

}  // namespace qtx::reference::ops
