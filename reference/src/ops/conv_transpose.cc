#include "arithmetic/product.h"
#include "ops/common.h"
#include "ops/convolution.h"
#include "ops/registry.h"
#include "ops/transposed_window.h"

namespace qtx::reference::ops {
namespace {

using format::AttributeType;
using format::Dims;

Result<void> CheckTransposedShapes(const Call& call, const Dims& x, const Dims& w) {
  if (x.size() < 3 || w.size() != x.size()) {
    return Error{ErrorCode::kInvalid, InputName(call, 1),
                 "found x" + format::ToString(x) + " and w" + format::ToString(w) +
                     ", expected equal ranks of at least 3"};
  }
  const std::int64_t group = call.node.IntOr("group", 1);
  if (group < 1 || x[1] % group != 0 || w[0] != x[1] || w[1] < 1) {
    return Error{ErrorCode::kInvalid, "attribute 'group'",
                 "found " + std::to_string(group) + " with x" + format::ToString(x) + " and w" +
                     format::ToString(w) + ", expected C = w.shape[0], a multiple of group"};
  }
  const Dims kernel(w.begin() + 2, w.end());
  if (call.node.IntsOr("kernel_shape", kernel) != kernel || format::ElementCount(kernel) == 0) {
    return Error{ErrorCode::kInvalid, "attribute 'kernel_shape'",
                 "differs from w" + format::ToString(w) + ", or is empty"};
  }
  QTX_ASSIGN_OR_RETURN(const std::int64_t channels, format::ElementCount(Dims{group, w[1]}));
  const format::Tensor* b = call.Input(2);
  if (b != nullptr && b->dims != Dims{channels}) {
    return Error{ErrorCode::kInvalid, InputName(call, 2),
                 "found shape " + format::ToString(b->dims) + ", expected [" +
                     std::to_string(channels) + "]"};
  }
  return {};
}

// Source: conv_transpose.S1 to conv_transpose.S6.
Result<format::Tensor> ConvTranspose(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Operand x, RealAt(call, 0));
  QTX_ASSIGN_OR_RETURN(const Operand w, RealAt(call, 1));
  QTX_ASSIGN_OR_RETURN(const std::optional<Operand> b, OptionalNumberAt(call, 2));
  const Dims& xd = x.tensor().dims;
  const Dims& wd = w.tensor().dims;
  QTX_RETURN_IF_ERROR(CheckTransposedShapes(call, xd, wd));
  const std::span<const std::int64_t> spatial(xd.data() + 2, xd.size() - 2);
  const std::span<const std::int64_t> kernel(wd.data() + 2, wd.size() - 2);
  QTX_ASSIGN_OR_RETURN(const TransposedWindow window,
                       TransposedWindow::Make(call.node, spatial, kernel));
  const std::int64_t group = call.node.IntOr("group", 1);
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
  Dims dims = {g.batch, g.channels};
  dims.insert(dims.end(), window.output().begin(), window.output().end());
  QTX_ASSIGN_OR_RETURN(Output output, Output::Make(call, dims));
  const ProductOperands operands{.x = &x, .w = &w, .bias = PointerTo(b), .w_channel_axis = 1};
  ProductSum sum(call, operands, &output);
  Convolve(g, x, w, &sum);
  return output.Take();
}

constexpr AttributeRule kConvTransposeAttributes[] = {
    {"auto_pad", AttributeType::kString},     {"dilations", AttributeType::kInts},
    {"group", AttributeType::kInt},           {"kernel_shape", AttributeType::kInts},
    {"output_padding", AttributeType::kInts}, {"output_shape", AttributeType::kInts},
    {"pads", AttributeType::kInts},           {"strides", AttributeType::kInts},
};

}  // namespace

const Operator kConvTranspose = {.op_type = "ConvTranspose",
                                 .min_inputs = 2,
                                 .max_inputs = 3,
                                 .attributes = kConvTransposeAttributes,
                                 .check = CheckWindowAttributes,
                                 .run = ConvTranspose};

}  // namespace qtx::reference::ops
