#include <cmath>

#include "ops/registry.h"
#include "ops/unary.h"

namespace qtx::reference::ops {
namespace {

// Source: floor.S1.
Result<format::Tensor> Floor(const Call& call) {
  const RealFunction floor = {
      .rational = [](const Rational& x) { return Rational(Round(x, TieRule::kDown)); },
      .approximate = [](double x) { return Within(std::floor(x), 0); }};
  return RunUnary(call, floor);
}

}  // namespace

const Operator kFloor = {.op_type = "Floor", .run = Floor};

}  // namespace qtx::reference::ops
