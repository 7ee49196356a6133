#include <cmath>

#include "ops/registry.h"
#include "ops/unary.h"

namespace qtx::reference::ops {
namespace {

// libm's asin is within 1 ulp, 2 units (glibc manual, "Known Maximum Errors"); 4 ulp are allowed.
// It is NaN beyond -1 and 1.  Source: asin.S1 to asin.S3.
Result<format::Tensor> Asin(const Call& call) {
  return RunUnary(call, {.enclose = [](Interval x) { return reference::Asin(std::move(x)); },
                         .approximate = [](double x) { return Within(std::asin(x), 8); },
                         .special = NanBeyondOne});
}

}  // namespace

const Operator kAsin = {.op_type = "Asin", .run = Asin};

}  // namespace qtx::reference::ops
