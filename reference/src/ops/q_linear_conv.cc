#include "ops/linear.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// Conv of x, w and B, each with its parameters.  Source: q_linear_conv.S1 to .S4.
Result<format::Tensor> QLinearConv(const Call& call) {
  ExtendedCall conv(call);
  QTX_RETURN_IF_ERROR(conv.Add(0, {1, 2}));
  QTX_RETURN_IF_ERROR(conv.Add(3, {4, 5}, {ParameterShape::Kind::kAxis, 0}));
  QTX_RETURN_IF_ERROR(CheckBias(call, 8));
  conv.AddPlain(8);
  QTX_RETURN_IF_ERROR(conv.SetOutput({6, 7}));
  return conv.Run(kConv.run);
}

}  // namespace

const Operator kQLinearConv = {.op_type = "QLinearConv",
                               .min_inputs = 8,
                               .max_inputs = 9,
                               .attributes = kConv.attributes,
                               .check = kConv.check,
                               .infer = TypeOfInput<7>,
                               .run = QLinearConv};

}  // namespace qtx::reference::ops
