#include "ops/linear.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// Conv over x - x_zero_point and w - w_zero_point.  Source: conv_integer.S1 to .S3.
Result<format::Tensor> ConvInteger(const Call& call) {
  QTX_RETURN_IF_ERROR(CheckInt32Output(call));
  ExtendedCall conv(call);
  QTX_RETURN_IF_ERROR(conv.Add(0, {kNoInput, 2}));
  QTX_RETURN_IF_ERROR(conv.Add(1, {kNoInput, 3}, {ParameterShape::Kind::kAxis, 0}));
  return conv.Run(kConv.run);
}

}  // namespace

const Operator kConvInteger = {.op_type = "ConvInteger",
                               .min_inputs = 2,
                               .max_inputs = 4,
                               .attributes = kConv.attributes,
                               .check = kConv.check,
                               .infer = TypeInt32,
                               .run = ConvInteger};

}  // namespace qtx::reference::ops
