#include <cmath>

#include "ops/registry.h"
#include "ops/unary.h"

namespace qtx::reference::ops {
namespace {

// libm's tan is within 1 ulp, 2 units, of every finite double, none of which is a pole (glibc
// manual, "Known Maximum Errors"); 4 ulp are allowed.  Source: tan.S1 to tan.S3.
Result<format::Tensor> Tan(const Call& call) {
  return RunUnary(call, {.enclose = [](Interval x) { return reference::Tan(std::move(x)); },
                         .approximate = [](double x) { return Within(std::tan(x), 8); }});
}

}  // namespace

const Operator kTan = {.op_type = "Tan", .run = Tan};

}  // namespace qtx::reference::ops
