#include <cmath>

#include "ops/registry.h"
#include "ops/unary.h"

namespace qtx::reference::ops {
namespace {

// libm's erf is within 1 ulp, 2 units (glibc manual, "Known Maximum Errors"); 4 ulp are allowed.
// Source: erf.S1 to erf.S3.
Result<format::Tensor> Erf(const Call& call) {
  const RealFunction erf = {.enclose = [](Interval x) { return reference::Erf(std::move(x)); },
                            .approximate = [](double x) { return Within(std::erf(x), 8); }};
  return RunUnary(call, erf);
}

}  // namespace

const Operator kErf = {.op_type = "Erf", .run = Erf};

}  // namespace qtx::reference::ops
