// Conv of any rank, with operands of any type, constant or computed.
#include <utility>

#include "engine/ops/conv.h"
#include "engine/ops/indexing.h"
#include "engine/ops/real_product.h"
#include "engine/ops/reduction.h"

namespace qtx::backend::engine {
namespace {

// The taps of one channel, again for each channel of the group.
Walk OverChannels(Walk plane, std::int64_t channels, Pair stride) {
  plane.terms *= static_cast<double>(channels);
  plane.taps_at = [taps_of_channel = std::move(plane.taps_at), channels, stride](
                      std::int64_t position, std::vector<Pair>& taps) {
    taps_of_channel(position, taps);
    if (channels == 0) taps.clear();
    const std::size_t count = taps.size();
    for (std::int64_t c = 1; c < channels; ++c) {
      for (std::size_t i = 0; i < count; ++i) {
        taps.push_back({taps[i].a + c * stride.a, taps[i].b + c * stride.b});
      }
    }
    return std::int64_t{1};
  };
  return plane;
}

}  // namespace

StepResult PrepareGeneralConv(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(const ConvShape shape, ConvShapeOf(node));
  QTX_ASSIGN_OR_RETURN(Value * y, node.Output(OutputDims(shape.axes, shape.batch, shape.filters)));
  Sum sum;
  QTX_ASSIGN_OR_RETURN(sum.a, node.Input(0));
  QTX_ASSIGN_OR_RETURN(sum.b, node.Input(1));
  if (node.HasInput(2)) {
    QTX_ASSIGN_OR_RETURN(sum.addend, node.Input(2));
    sum.addend_factor = node.bias_factor().value_or(1);
  }
  sum.channel_axis = 0;
  const Pair channel{Product(std::span(sum.a->tensor.dims).subspan(2)),
                     Product(std::span(sum.b->tensor.dims).subspan(2))};
  QTX_ASSIGN_OR_RETURN(Walk walk, WalkOf(node, shape.axes, false));
  walk = OverChannels(std::move(walk), shape.GroupChannels(), channel);
  const std::int64_t group_filters = shape.filters / shape.groups;
  for (std::int64_t n = 0; n < shape.batch; ++n) {
    for (std::int64_t m = 0; m < shape.filters; ++m) {
      const std::int64_t first = n * shape.channels + m / group_filters * shape.GroupChannels();
      walk.planes.push_back({first * channel.a, m * shape.GroupChannels() * channel.b});
      sum.channel.push_back(m);
      if (sum.addend != nullptr) sum.addend_index.push_back(m);
    }
  }
  walk.terms *= static_cast<double>(walk.planes.size());
  StepResult general = MakeSum(node, sum, walk, y);
  if (!general.has_value()) return general;
  std::unique_ptr<Step> step;
  if (TakesRealProducts(node, sum, *y)) {
    step = MakeRealConv(node, shape, RealResults(node, std::move(sum), std::move(walk), y));
  } else if (TakesFloatProducts(node, sum, *y)) {
    step = MakeRealConv(node, shape, FloatResults(node, std::move(sum), std::move(walk), y));
  }
  return step != nullptr ? std::move(step) : std::move(general);
}

}  // namespace qtx::backend::engine
