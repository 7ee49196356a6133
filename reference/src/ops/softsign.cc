#include <cmath>

#include "ops/registry.h"
#include "ops/unary.h"

namespace qtx::reference::ops {
namespace {

// The sum and the quotient round once each: 2 units.  Source: softsign.S1 to softsign.S3.
Result<format::Tensor> Softsign(const Call& call) {
  return RunUnary(
      call, {.rational = [](const Rational& x) { return Rational(x / (1 + abs(x))); },
             .approximate =
                 [](double x) {
                   return Within(std::isinf(x) ? std::copysign(1.0, x) : x / (1 + std::abs(x)), 3);
                 }});
}

}  // namespace

const Operator kSoftsign = {.op_type = "Softsign", .run = Softsign};

}  // namespace qtx::reference::ops
