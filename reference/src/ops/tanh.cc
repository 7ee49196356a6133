#include <cmath>

#include "ops/registry.h"
#include "ops/unary.h"

namespace qtx::reference::ops {
namespace {

// Source: tanh.S1 to tanh.S3.
Result<format::Tensor> Tanh(const Call& call) { return RunUnary(call, TanhFunction()); }

}  // namespace

const Operator kTanh = {.op_type = "Tanh", .run = Tanh};

}  // namespace qtx::reference::ops

namespace qtx::reference {

// libm's tanh is within 2 ulp, 4 units (glibc manual, "Known Maximum Errors"); 4 ulp are allowed.
RealFunction TanhFunction() {
  return {.enclose = [](Interval x) { return Tanh(std::move(x)); },
          .approximate = [](double x) { return Within(std::tanh(x), 8); }};
}

}  // namespace qtx::reference
