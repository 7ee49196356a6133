#include "arithmetic/product.h"
#include "ops/common.h"
#include "ops/convolution.h"
#include "ops/registry.h"
#include "ops/window.h"

namespace qtx::reference::ops {
namespace {

using format::Dims;

// Source: conv.S1 to conv.S5.
Result<format::Tensor> Conv(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Operand x, OperandAt(call, 0));
  QTX_ASSIGN_OR_RETURN(const Operand w, OperandAt(call, 1));
  QTX_ASSIGN_OR_RETURN(const std::optional<Operand> b, OptionalOperandAt(call, 2));
  const Dims& xd = x.tensor().dims;
  const Dims& wd = w.tensor().dims;
  const std::span<const std::int64_t> spatial(xd.data() + 2, xd.size() - 2);
  const std::span<const std::int64_t> kernel(wd.data() + 2, wd.size() - 2);
  QTX_ASSIGN_OR_RETURN(const Window window, Window::Make(call.node, spatial, kernel));
  Convolution g{.batch = xd[0],
                .group = call.Int("group"),
                .depth = wd[1],
                .channels = wd[0],
                .positions = window.positions(),
                .taps = [&window](std::int64_t position, std::vector<Tap>* taps) {
                  window.TapsAt(position, taps);
                }};
  QTX_ASSIGN_OR_RETURN(g.pixels, format::ElementCount(spatial));
  QTX_ASSIGN_OR_RETURN(g.kernel, format::ElementCount(kernel));
  QTX_ASSIGN_OR_RETURN(Output output, Output::Of(call));
  const ProductOperands operands{.x = &x, .w = &w, .bias = PointerTo(b), .w_channel_axis = 0};
  ProductSum sum(call, operands, &output);
  Convolve(g, x, w, &sum);
  return output.Take();
}

}  // namespace

const Operator kConv = {.op_type = "Conv", .run = Conv};

}  // namespace qtx::reference::ops
