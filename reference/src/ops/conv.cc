#include "arithmetic/product.h"
#include "ops/common.h"
#include "ops/convolution.h"
#include "ops/registry.h"
#include "ops/window.h"

namespace qtx::reference::ops {
namespace {

using format::AttributeType;
using format::Dims;

Result<void> CheckShapes(const Call& call, const Dims& x, const Dims& w) {
  if (x.size() < 3 || w.size() != x.size()) {
    return Error{ErrorCode::kInvalid, InputName(call, 1),
                 "found x" + format::ToString(x) + " and w" + format::ToString(w) +
                     ", expected equal ranks of at least 3"};
  }
  const std::int64_t group = call.node.IntOr("group", 1);
  if (group < 1 || x[1] % group != 0 || x[1] / group != w[1] || w[0] < 1 || w[0] % group != 0) {
    return Error{ErrorCode::kInvalid, "attribute 'group'",
                 "found " + std::to_string(group) + " with x" + format::ToString(x) + " and w" +
                     format::ToString(w) + ", expected C = group * w.shape[1] and M a multiple"};
  }
  const Dims kernel(w.begin() + 2, w.end());
  if (call.node.IntsOr("kernel_shape", kernel) != kernel) {
    return Error{ErrorCode::kInvalid, "attribute 'kernel_shape'",
                 "differs from w" + format::ToString(w)};
  }
  const format::Tensor* b = call.Input(2);
  if (b != nullptr && b->dims != Dims{w[0]}) {
    return Error{
        ErrorCode::kInvalid, InputName(call, 2),
        "found shape " + format::ToString(b->dims) + ", expected [" + std::to_string(w[0]) + "]"};
  }
  return {};
}

// Source: conv.S1 to conv.S5.
Result<format::Tensor> Conv(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Operand x, RealAt(call, 0));
  QTX_ASSIGN_OR_RETURN(const Operand w, RealAt(call, 1));
  QTX_ASSIGN_OR_RETURN(const std::optional<Operand> b, BiasAt(call, 2));
  const Dims& xd = x.tensor().dims;
  const Dims& wd = w.tensor().dims;
  QTX_RETURN_IF_ERROR(CheckShapes(call, xd, wd));
  const std::span<const std::int64_t> spatial(xd.data() + 2, xd.size() - 2);
  const std::span<const std::int64_t> kernel(wd.data() + 2, wd.size() - 2);
  QTX_ASSIGN_OR_RETURN(const Window window, Window::Make(call.node, spatial, kernel));
  Convolution g{.batch = xd[0],
                .group = call.node.IntOr("group", 1),
                .depth = wd[1],
                .channels = wd[0],
                .positions = window.positions(),
                .taps = [&window](std::int64_t position, std::vector<Tap>* taps) {
                  window.TapsAt(position, taps);
                }};
  QTX_ASSIGN_OR_RETURN(g.pixels, format::ElementCount(spatial));
  QTX_ASSIGN_OR_RETURN(g.kernel, format::ElementCount(kernel));
  Dims dims = {g.batch, g.channels};
  dims.insert(dims.end(), window.output().begin(), window.output().end());
  QTX_ASSIGN_OR_RETURN(Output output, Output::Make(call, dims));
  const ProductOperands operands{.x = &x, .w = &w, .bias = PointerTo(b), .w_channel_axis = 0};
  ProductSum sum(call, operands, &output);
  Convolve(g, x, w, &sum);
  return output.Take();
}

constexpr AttributeRule kConvAttributes[] = {
    {"auto_pad", AttributeType::kString}, {"dilations", AttributeType::kInts},
    {"group", AttributeType::kInt},       {"kernel_shape", AttributeType::kInts},
    {"pads", AttributeType::kInts},       {"strides", AttributeType::kInts},
};

}  // namespace

const Operator kConv = {.op_type = "Conv",
                        .min_inputs = 2,
                        .max_inputs = 3,
                        .attributes = kConvAttributes,
                        .check = CheckWindowAttributes,
                        .run = Conv};

}  // namespace qtx::reference::ops
