// Conv: reading the node and choosing an implementation.
#include "engine/ops/conv.h"

#include <algorithm>
#include <utility>

#include "engine/product_epilogue.h"
#include "qtx/format/limits.h"

namespace qtx::backend::engine {
namespace {

using format::ElementType;

Result<ConvPlan> ReadNode(const NodePlan& node) {
  ConvPlan plan;
  QTX_ASSIGN_OR_RETURN(const format::Tensor* x, node.TypeOf(0));
  plan.eight_bits = x->elem_type != ElementType::kInt16Q;
  if (plan.eight_bits) {
    QTX_ASSIGN_OR_RETURN(plan.x, EightBitInput(node, 0));
  } else {
    QTX_ASSIGN_OR_RETURN(plan.x, SixteenBitInput(node, 0));
  }
  QTX_ASSIGN_OR_RETURN(static_cast<ConvShape&>(plan), ConvShapeOf(node));
  if (plan.channels < 1) return node.Unsupported("no channels");
  QTX_ASSIGN_OR_RETURN(plan.weights, LoadWeights(node, 1, 0));
  QTX_ASSIGN_OR_RETURN(plan.outputs, MakeChannels(node, plan.x.scale, plan.weights, plan.filters, 2,
                                                  1, node.bias_factor().value_or(1)));
  QTX_ASSIGN_OR_RETURN(plan.y, node.OutputType(OutputDims(plan.axes, plan.batch, plan.filters)));
  QTX_ASSIGN_OR_RETURN(const auto epilogue, EpilogueOf(node, {.channel_axis = 0}, plan.y));
  if (!epilogue.has_value()) return node.Unsupported("products of binary32");
  plan.epilogue = *epilogue;
  // The padded image is int16 at most: its size is bounded like any tensor's.
  format::Dims padded{plan.channels};
  for (const WindowAxis& axis : plan.axes) padded.push_back(PaddedSize(axis));
  const auto count = format::ElementCount(padded);
  if (!count.has_value()) return node.Because(count.error());
  if (*count > kMostOperands || plan.GroupChannels() * plan.Taps() > kMostDepth) {
    return node.Unsupported("an image or a window this large");
  }
  return plan;
}

}  // namespace

std::int64_t ConvShape::Taps() const {
  std::int64_t taps = 1;
  for (const WindowAxis& axis : axes) taps *= axis.kernel;
  return taps;
}

std::int64_t ConvShape::Positions() const {
  std::int64_t positions = 1;
  for (const WindowAxis& axis : axes) positions *= axis.output;
  return positions;
}

Result<ConvShape> ConvShapeOf(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(const format::Tensor* x, node.TypeOf(0));
  QTX_ASSIGN_OR_RETURN(const format::Tensor* w, node.TypeOf(1));
  const format::Dims& from = x->dims;
  const format::Dims& weights = w->dims;
  ConvShape shape{from[0], from[1], weights[0], node.Int("group"), {}};
  QTX_ASSIGN_OR_RETURN(
      shape.axes, WindowAxesOf(node, std::span(from).subspan(2), std::span(weights).subspan(2)));
  return shape;
}

PaddedImage::PaddedImage(std::vector<WindowAxis> axes, std::int64_t channels)
    : axes_(std::move(axes)), pitches_(axes_.size()), channels_(channels), size_(channels) {
  for (std::size_t i = axes_.size(); i-- > 0;) {
    pitches_[i] = size_;
    size_ *= PaddedSize(axes_[i]);
    plain_ = plain_ && PaddedSize(axes_[i]) == axes_[i].input;
    if (i + 1 < axes_.size()) lines_ *= PaddedSize(axes_[i]);
  }
}

std::int64_t PaddedImage::SourceLine(std::int64_t i) const {
  std::int64_t source = 0;
  std::int64_t stride = 1;
  for (std::size_t a = axes_.size() - 1; a-- > 0;) {
    const WindowAxis& axis = axes_[a];
    const std::int64_t coordinate = i % PaddedSize(axis) - axis.pad_begin;
    if (coordinate < 0 || coordinate >= axis.input) return -1;
    source += coordinate * stride;
    stride *= axis.input;
    i /= PaddedSize(axis);
  }
  return source;
}

namespace {

// Sums of coordinate[i] * step[i] over all coordinates below the limits, row-major.
std::vector<std::int64_t> GridOffsets(std::span<const std::int64_t> limits,
                                      std::span<const std::int64_t> steps) {
  std::vector<std::int64_t> offsets{0};
  for (std::size_t a = 0; a < limits.size(); ++a) {
    std::vector<std::int64_t> finer;
    finer.reserve(offsets.size() * static_cast<std::size_t>(limits[a]));
    for (const std::int64_t base : offsets) {
      for (std::int64_t i = 0; i < limits[a]; ++i) finer.push_back(base + i * steps[a]);
    }
    offsets = std::move(finer);
  }
  return offsets;
}

}  // namespace

std::vector<std::int64_t> PaddedImage::WindowOffsets() const {
  std::vector<std::int64_t> limits;
  std::vector<std::int64_t> steps;
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    limits.push_back(axes_[a].output);
    steps.push_back(axes_[a].stride * pitches_[a]);
  }
  return GridOffsets(limits, steps);
}

std::vector<std::int64_t> PaddedImage::TapOffsets() const {
  std::vector<std::int64_t> limits;
  std::vector<std::int64_t> steps;
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    limits.push_back(axes_[a].kernel);
    steps.push_back(axes_[a].dilation * pitches_[a]);
  }
  return GridOffsets(limits, steps);
}

StepResult PrepareConv(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(ConvPlan plan, ReadNode(node));
  if (plan.eight_bits && plan.groups > 1 && plan.GroupChannels() == 1) {
    StepResult step = MakeDepthwiseConv(node, plan);
    if (step.has_value() || step.error().code != ErrorCode::kUnsupported) return step;
  }
  return MakeProductConv(node, std::move(plan));
}

}  // namespace qtx::backend::engine
