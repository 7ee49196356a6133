#include <cmath>

#include "ops/registry.h"
#include "ops/unary.h"

namespace qtx::reference::ops {
namespace {

// libm's acos is within 1 ulp, 2 units (glibc manual, "Known Maximum Errors"); 4 ulp are allowed.
// It is NaN beyond -1 and 1.  Source: acos.S1 to acos.S3.
Result<format::Tensor> Acos(const Call& call) {
  return RunUnary(call, {.enclose = [](Interval x) { return reference::Acos(std::move(x)); },
                         .approximate = [](double x) { return Within(std::acos(x), 8); },
                         .special = NanBeyondOne});
}

}  // namespace

const Operator kAcos = {.op_type = "Acos", .run = Acos};

}  // namespace qtx::reference::ops
