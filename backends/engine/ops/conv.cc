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
  QTX_ASSIGN_OR_RETURN(const format::Tensor* w, node.Constant(1));
  const format::Dims& x_dims = plan.x.value->tensor.dims;
  if (x_dims.size() < 3 || w->dims.size() != x_dims.size()) {
    return node.Invalid("x is " + format::ToString(x_dims) + " and w " + format::ToString(w->dims));
  }
  plan.batch = x_dims[0];
  plan.channels = x_dims[1];
  plan.filters = w->dims[0];
  plan.groups = node.node().IntOr("group", 1);
  if (plan.groups < 1 || plan.channels < 1 || plan.filters < 1 ||
      plan.channels % plan.groups != 0 || plan.filters % plan.groups != 0 ||
      w->dims[1] != plan.GroupChannels()) {
    return node.Invalid("x is " + format::ToString(x_dims) + ", w " + format::ToString(w->dims) +
                        " and group " + std::to_string(plan.groups));
  }
  QTX_ASSIGN_OR_RETURN(plan.window,
                       WindowOf(node, std::span(x_dims).subspan(2), std::span(w->dims).subspan(2)));
  QTX_ASSIGN_OR_RETURN(plan.weights, LoadWeights(node, 1, 0));
  QTX_ASSIGN_OR_RETURN(plan.outputs,
                       MakeChannels(node, plan.x.type.scale, plan.weights, plan.filters, 2));
  QTX_ASSIGN_OR_RETURN(plan.y, node.Output(OutputDims(plan.window, plan.batch, plan.filters)));
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
