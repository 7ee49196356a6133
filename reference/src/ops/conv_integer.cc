#include "ops/linear.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// Conv over x - x_zero_point and w - w_zero_point.  Source: conv_integer.S1 to .S3.
Result<format::Tensor> ConvInteger(const Call& call) {
  ExtendedCall conv(call);
  conv.Add(0, {kNoInput, 2});
  conv.Add(1, {kNoInput, 3}, {ParameterShape::Kind::kAxis, 0});
  return conv.Run(kConv.run);
}

}  // namespace

const Operator kConvInteger = {.op_type = "ConvInteger", .run = ConvInteger};

}  // namespace qtx::reference::ops
