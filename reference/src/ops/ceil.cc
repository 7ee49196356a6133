#include <cmath>

#include "ops/registry.h"
#include "ops/unary.h"

namespace qtx::reference::ops {
namespace {

// Source: ceil.S1.
Result<format::Tensor> Ceil(const Call& call) {
  const RealFunction ceiling = {
      .rational = [](const Rational& x) { return Rational(-Round(-x, TieRule::kDown)); },
      .approximate = [](double x) { return Within(std::ceil(x), 0); }};
  return RunUnary(call, ceiling);
}

}  // namespace

const Operator kCeil = {.op_type = "Ceil", .run = Ceil};

}  // namespace qtx::reference::ops
