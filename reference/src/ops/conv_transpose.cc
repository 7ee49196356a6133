#include "arithmetic/product.h"
#include "ops/common.h"
#include "ops/convolution.h"
#include "ops/registry.h"
#include "ops/transposed_window.h"

namespace qtx::reference::ops {
namespace {

using format::Dims;

// Source: conv_transpose.S1 to conv_transpose.S6.
Result<format::Tensor> ConvTranspose(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Operand x, OperandAt(call, 0));
  QTX_ASSIGN_OR_RETURN(const Operand w, OperandAt(call, 1));
  QTX_ASSIGN_OR_RETURN(const std::optional<Operand> b, OptionalOperandAt(call, 2));
  const Dims& xd = x.tensor().dims;
  const Dims& wd = w.tensor().dims;
  const std::span<const std::int64_t> spatial(xd.data() + 2, xd.size() - 2);
  const std::span<const std::int64_t> kernel(wd.data() + 2, wd.size() - 2);
  QTX_ASSIGN_OR_RETURN(const TransposedWindow window,
                       TransposedWindow::Make(call.node, spatial, kernel));
  const std::int64_t group = call.Int("group");
  Convolution g{.batch = xd[0],
                .group = group,
                .depth = xd[1] / group,
                .channels = group * wd[1],
                .positions = window.positions(),
                .transposed = true,
                .taps = [&window](std::int64_t position, std::vector<Tap>* taps) {
                  window.TapsAt(position, taps);
                }};
  QTX_ASSIGN_OR_RETURN(g.pixels, format::ElementCount(spatial));
  QTX_ASSIGN_OR_RETURN(g.kernel, format::ElementCount(kernel));
  QTX_ASSIGN_OR_RETURN(Output output, Output::Of(call));
  const ProductOperands operands{.x = &x, .w = &w, .bias = PointerTo(b), .w_channel_axis = 1};
  ProductSum sum(call, operands, &output);
  Convolve(g, x, w, &sum);
  return output.Take();
}

}  // namespace

const Operator kConvTranspose = {.op_type = "ConvTranspose", .run = ConvTranspose};

}  // namespace qtx::reference::ops
