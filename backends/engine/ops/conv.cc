// Conv: reading the node and choosing an implementation.
#include "engine/ops/conv.h"

#include <utility>

#include "qtx/format/limits.h"

namespace qtx::backend::engine {
namespace {

// Int8 sums of int8 products and their correction both fit int32 up to this depth.
constexpr std::int64_t kLargestNarrowDepth = std::int64_t{1} << 15;

Result<ConvPlan> ReadNode(const NodePlan& node) {
  ConvPlan plan;
  plan.kernels = &node.kernels();
  QTX_ASSIGN_OR_RETURN(plan.x, EightBitOperand(node, 0));
  QTX_ASSIGN_OR_RETURN(static_cast<ConvShape&>(plan), ConvShapeOf(node));
  if (plan.channels < 1) return node.Unsupported("no channels");
  QTX_ASSIGN_OR_RETURN(plan.window, WindowOf(node, plan.axes));
  QTX_ASSIGN_OR_RETURN(plan.weights, LoadWeights(node, 1, 0));
  QTX_ASSIGN_OR_RETURN(plan.outputs,
                       MakeChannels(node, plan.x.type.scale, plan.weights, plan.filters, 2));
  QTX_ASSIGN_OR_RETURN(plan.y, node.Output(OutputDims(plan.axes, plan.batch, plan.filters)));
  // The padded planes are int16: their size is bounded like any tensor's.
  const format::Dims planes{plan.GroupChannels(), plan.window.y.padded(), plan.window.x.padded()};
  const auto count = format::ElementCount(planes);
  if (!count.has_value()) return node.Because(count.error());
  if (*count > format::kMaxTensorBytes / 4) return node.Unsupported("padding this large");
  return plan;
}

bool CanUseInt8(const ConvPlan& plan) {
  // Real zero must be an int8 operand for the padding, and offsets are left to the correction.
  return plan.kernels->narrow.multiply != nullptr && plan.weights.fits_int8 &&
         plan.Depth() <= kLargestNarrowDepth;
}

// sum (x' - z') w = sum x' w - z' sum w, with x' and z' re-biased to int8.
void CorrectOffsets(ConvPlan& plan) {
  const std::int32_t zero = plan.x.type.offset - (plan.x.is_signed ? 0 : 128);
  for (std::int64_t m = 0; m < plan.filters; ++m) {
    std::int32_t sum = 0;
    for (std::int64_t k = 0; k < plan.Depth(); ++k) {
      sum += plan.weights.values[static_cast<std::size_t>(m * plan.Depth() + k)];
    }
    plan.outputs[static_cast<std::size_t>(m)].correction = -zero * sum;
  }
}

}  // namespace

Result<ConvShape> ConvShapeOf(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(const Value* x, node.Input(0));
  QTX_ASSIGN_OR_RETURN(const Value* w, node.Input(1));
  const format::Dims& from = x->tensor.dims;
  const format::Dims& weights = w->tensor.dims;
  if (from.size() < 3 || weights.size() != from.size()) {
    return node.Invalid("x is " + format::ToString(from) + " and w " + format::ToString(weights));
  }
  ConvShape shape{from[0], from[1], weights[0], node.node().IntOr("group", 1), {}};
  if (shape.groups < 1 || shape.filters < 1 || shape.channels % shape.groups != 0 ||
      shape.filters % shape.groups != 0 || weights[1] != shape.GroupChannels()) {
    return node.Invalid("x is " + format::ToString(from) + ", w " + format::ToString(weights) +
                        " and group " + std::to_string(shape.groups));
  }
  QTX_ASSIGN_OR_RETURN(
      shape.axes, WindowAxesOf(node, std::span(from).subspan(2), std::span(weights).subspan(2)));
  return shape;
}

std::vector<std::int64_t> ConvPlan::TapOffsets() const {
  std::vector<std::int64_t> offsets;
  for (std::int64_t c = 0; c < GroupChannels(); ++c) {
    for (std::int64_t ky = 0; ky < window.y.kernel; ++ky) {
      for (std::int64_t kx = 0; kx < window.x.kernel; ++kx) {
        offsets.push_back(c * PlaneSize() + ky * window.y.dilation * window.x.padded() +
                          kx * window.x.dilation);
      }
    }
  }
  return offsets;
}

StepResult PrepareConv(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(ConvPlan plan, ReadNode(node));
  const std::int64_t largest =
      static_cast<std::int64_t>(plan.x.LargestMagnitude()) * plan.weights.largest;
  const bool depthwise =
      plan.GroupChannels() == 1 && plan.Depth() <= SafeGroups(1, largest) && plan.groups > 1;
  const bool narrow = !depthwise && CanUseInt8(plan);
  if (narrow) CorrectOffsets(plan);
  auto requantizer = Requantizer::Make(plan.outputs, plan.y->tensor, node.kernels());
  if (!requantizer.has_value()) return node.Because(requantizer.error());
  if (depthwise) return MakeDepthwiseConv(std::move(plan), *std::move(requantizer));
  if (narrow) return MakeNarrowGemmConv(std::move(plan), *std::move(requantizer));
  return MakeGemmConv(std::move(plan), *std::move(requantizer));
}

}  // namespace qtx::backend::engine
