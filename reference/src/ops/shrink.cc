#include <cmath>

#include "ops/registry.h"
#include "ops/unary.h"

namespace qtx::reference::ops {
namespace {

// x < -lambd comes first, as in ONNX, where lambd is negative and x is beyond both bounds as well.
template <typename Number>
Number Shrunk(const Number& x, double lambd, double bias) {
  if (x < -lambd) return Number(x + bias);
  if (x > lambd) return Number(x - bias);
  return Number(0);
}

// The sum rounds once.  Source: shrink.S1 to shrink.S3.
Result<format::Tensor> Shrink(const Call& call) {
  const auto lambd = static_cast<double>(call.Float("lambd"));
  const auto bias = static_cast<double>(call.Float("bias"));
  return RunUnary(
      call, {.rational = [=](const Rational& x) { return Shrunk(x, lambd, bias); },
             .approximate =
                 [=](double x) { return Within(std::isnan(x) ? x : Shrunk(x, lambd, bias), 2); }});
}

}  // namespace

const Operator kShrink = {.op_type = "Shrink", .run = Shrink};

}  // namespace qtx::reference::ops
