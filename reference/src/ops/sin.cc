#include <cmath>

#include "ops/registry.h"
#include "ops/unary.h"

namespace qtx::reference::ops {
namespace {

// libm's sin is within 1 ulp, 2 units, of every finite double (glibc manual, "Known Maximum
// Errors"); 4 ulp are allowed.  Source: sin.S1 to sin.S3.
Result<format::Tensor> Sin(const Call& call) {
  return RunUnary(call, {.enclose = [](Interval x) { return reference::Sin(std::move(x)); },
                         .approximate = [](double x) { return Within(std::sin(x), 8); }});
}

}  // namespace

const Operator kSin = {.op_type = "Sin", .run = Sin};

}  // namespace qtx::reference::ops
