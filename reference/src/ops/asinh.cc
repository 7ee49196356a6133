#include <cmath>

#include "ops/registry.h"
#include "ops/unary.h"

namespace qtx::reference::ops {
namespace {

// libm's asinh is within 2 ulp, 4 units (glibc manual, "Known Maximum Errors"); 4 ulp are allowed.
// Source: asinh.S1 to asinh.S3.
Result<format::Tensor> Asinh(const Call& call) {
  return RunUnary(call, {.enclose = [](Interval x) { return reference::Asinh(std::move(x)); },
                         .approximate = [](double x) { return Within(std::asinh(x), 8); }});
}

}  // namespace

const Operator kAsinh = {.op_type = "Asinh", .run = Asinh};

}  // namespace qtx::reference::ops
