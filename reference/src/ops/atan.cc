#include <cmath>

#include "ops/registry.h"
#include "ops/unary.h"

namespace qtx::reference::ops {
namespace {

// libm's atan is within 1 ulp, 2 units (glibc manual, "Known Maximum Errors"); 4 ulp are allowed.
// Source: atan.S1 to atan.S3.
Result<format::Tensor> Atan(const Call& call) {
  return RunUnary(
      call, {.enclose = [](Interval x) { return reference::Atan(std::move(x)); },
             .approximate = [](double x) { return Within(std::atan(x), 8); },
             .limit = [](int sign, int bits) { return Pi(bits) / Interval(2 * sign, bits); }});
}

}  // namespace

const Operator kAtan = {.op_type = "Atan", .run = Atan};

}  // namespace qtx::reference::ops
