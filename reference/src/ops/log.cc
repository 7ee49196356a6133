#include <cmath>

#include "ops/registry.h"
#include "ops/unary.h"

namespace qtx::reference::ops {
namespace {

// libm's log is within 1 ulp, 2 units (glibc manual, "Known Maximum Errors"), near its zero as
// well; 4 ulp are allowed. It is NaN below zero and minus infinity at zero. Source: log.S1 to
// log.S3.
Result<format::Tensor> Log(const Call& call) {
  const RealFunction log = {.enclose = [](Interval x) { return reference::Log(std::move(x)); },
                            .approximate = [](double x) { return Within(std::log(x), 8); }};
  return RunUnary(call, log);
}

}  // namespace

const Operator kLog = {.op_type = "Log", .run = Log};

}  // namespace qtx::reference::ops
