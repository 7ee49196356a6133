#include "ops/registry.h"
#include "ops/unary.h"

namespace qtx::reference::ops {
namespace {

// Source: neg.S1, neg.S2.
Result<format::Tensor> Neg(const Call& call) {
  const RealFunction negate = {.rational = [](const Rational& x) { return Rational(-x); },
                               .approximate = [](double x) { return Within(-x, 0); }};
  return RunUnary(call, negate);
}

}  // namespace

const Operator kNeg = {.op_type = "Neg", .run = Neg};

}  // namespace qtx::reference::ops
