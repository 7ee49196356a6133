#include <cmath>
#include <limits>
#include <optional>

#include "ops/registry.h"
#include "ops/unary.h"

namespace qtx::reference::ops {
namespace {

std::optional<double> AcoshOutside(const Rational& x) {
  if (x >= 1) return std::nullopt;
  return std::numeric_limits<double>::quiet_NaN();
}

// libm's acosh is within 2 ulp, 4 units (glibc manual, "Known Maximum Errors"), near its zero as
// well; 4 ulp are allowed. It is NaN below 1.  Source: acosh.S1 to acosh.S3.
Result<format::Tensor> Acosh(const Call& call) {
  return RunUnary(call, {.enclose = [](Interval x) { return reference::Acosh(std::move(x)); },
                         .approximate = [](double x) { return Within(std::acosh(x), 8); },
                         .special = AcoshOutside});
}

}  // namespace

const Operator kAcosh = {.op_type = "Acosh", .run = Acosh};

}  // namespace qtx::reference::ops
