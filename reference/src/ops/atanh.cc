#include <cmath>
#include <limits>
#include <optional>

#include "ops/registry.h"
#include "ops/unary.h"

namespace qtx::reference::ops {
namespace {

std::optional<double> AtanhOutside(const Rational& x) {
  const Rational size = ::abs(x);
  if (size < 1) return std::nullopt;
  if (size > 1) return std::numeric_limits<double>::quiet_NaN();
  return std::copysign(std::numeric_limits<double>::infinity(), sgn(x));
}

// libm's atanh is within 2 ulp, 4 units (glibc manual, "Known Maximum Errors"); 4 ulp are allowed.
// It is NaN beyond its poles, -1 and 1.  Source: atanh.S1 to atanh.S3.
Result<format::Tensor> Atanh(const Call& call) {
  return RunUnary(call, {.enclose = [](Interval x) { return reference::Atanh(std::move(x)); },
                         .approximate = [](double x) { return Within(std::atanh(x), 8); },
                         .special = AtanhOutside});
}

}  // namespace

const Operator kAtanh = {.op_type = "Atanh", .run = Atanh};

}  // namespace qtx::reference::ops
