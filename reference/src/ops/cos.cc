#include <cmath>

#include "ops/registry.h"
#include "ops/unary.h"

namespace qtx::reference::ops {
namespace {

// libm's cos is within 1 ulp, 2 units, of every finite double (glibc manual, "Known Maximum
// Errors"); 4 ulp are allowed.  Source: cos.S1 to cos.S3.
Result<format::Tensor> Cos(const Call& call) {
  return RunUnary(call, {.enclose = [](Interval x) { return reference::Cos(std::move(x)); },
                         .approximate = [](double x) { return Within(std::cos(x), 8); }});
}

}  // namespace

const Operator kCos = {.op_type = "Cos", .run = Cos};

}  // namespace qtx::reference::ops
