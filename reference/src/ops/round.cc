#include "arithmetic/round.h"

#include "ops/registry.h"
#include "ops/unary.h"

namespace qtx::reference::ops {
namespace {

// Source: round.S1.
Result<format::Tensor> Round(const Call& call) {
  const RealFunction nearest = {
      .rational = [](const Rational& x) { return Rational(Round(x, TieRule::kHalfEven)); },
      .approximate = [](double x) { return Within(RoundFloat(x, TieRule::kHalfEven), 0); }};
  return RunUnary(call, nearest);
}

}  // namespace

const Operator kRound = {.op_type = "Round", .run = Round};

}  // namespace qtx::reference::ops
