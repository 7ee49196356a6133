#include "ops/linear.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// Conv of x, w and B, each with its parameters.  Source: q_linear_conv.S1 to .S4.
Result<format::Tensor> QLinearConv(const Call& call) {
  ExtendedCall conv(call);
  conv.Add(0, {1, 2});
  conv.Add(3, {4, 5}, {ParameterShape::Kind::kAxis, 0});
  conv.AddPlain(8);
  conv.SetOutput({6, 7});
  return conv.Run(kConv.run);
}

}  // namespace

const Operator kQLinearConv = {.op_type = "QLinearConv", .run = QLinearConv};

}  // namespace qtx::reference::ops
