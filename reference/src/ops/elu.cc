#include <cmath>

#include "ops/registry.h"
#include "ops/unary.h"

namespace qtx::reference::ops {
namespace {

// libm's expm1 is within 1 ulp, 2 units (glibc manual, "Known Maximum Errors"); 4 ulp are allowed,
// and 1 unit for the product.  Source: elu.S1 to elu.S3.
Result<format::Tensor> Elu(const Call& call) {
  const auto alpha = static_cast<double>(call.Float("alpha"));
  const RealFunction elu = {
      .rational =
          [](const Rational& x) { return x < 0 ? std::nullopt : std::optional<Rational>(x); },
      .enclose = [alpha](Interval x) { return Expm1(std::move(x)) * Interval(alpha, 64); },
      .approximate = [alpha](double x) { return Within(x < 0 ? alpha * std::expm1(x) : x, 9); }};
  return RunUnary(call, elu);
}

}  // namespace

const Operator kElu = {.op_type = "Elu", .run = Elu};

}  // namespace qtx::reference::ops
