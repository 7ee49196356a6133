#include "ops/registry.h"
#include "ops/unary.h"

namespace qtx::reference::ops {
namespace {

// NaN is not below alpha, and stays.  Source: thresholded_relu.S1 to thresholded_relu.S3.
Result<format::Tensor> ThresholdedRelu(const Call& call) {
  const auto alpha = static_cast<double>(call.Float("alpha"));
  return RunUnary(call,
                  {.rational = [alpha](const Rational& x) { return x <= alpha ? Rational(0) : x; },
                   .approximate = [alpha](double x) { return Within(x <= alpha ? 0 : x, 1); }});
}

}  // namespace

const Operator kThresholdedRelu = {.op_type = "ThresholdedRelu", .run = ThresholdedRelu};

}  // namespace qtx::reference::ops
