#include "ops/registry.h"
#include "ops/unary.h"

namespace qtx::reference::ops {
namespace {

// Source: sign.S1.
Result<format::Tensor> Sign(const Call& call) {
  const RealFunction sign = {.rational = [](const Rational& x) { return Rational(sgn(x)); },
                             .approximate =
                                 [](double x) {
                                   return Within(x > 0 ? 1 : x < 0 ? -1 : x, 0);
                                 }};
  return RunUnary(call, sign);
}

}  // namespace

const Operator kSign = {.op_type = "Sign", .run = Sign};

}  // namespace qtx::reference::ops
