// ConvTranspose: every element of y sums the products that reach it.  Source:
// spec/ops/conv_transpose.md.
#include <utility>

#include "engine/ops/operators.h"
#include "engine/ops/reduction.h"

namespace qtx::backend::engine {
namespace {

using format::Dims;

constexpr std::int64_t kMostFilters = std::int64_t{1} << 24;

// What reaches position `out` of an axis: elements of x and of the kernel.
std::vector<Pair> ReachingAlong(const WindowAxis& axis, std::int64_t out) {
  std::vector<Pair> reaching;
  for (std::int64_t k = 0; k < axis.kernel; ++k) {
    const std::int64_t at = out + axis.pad_begin - k * axis.dilation;
    if (at < 0) break;
    if (at % axis.stride == 0 && at / axis.stride < axis.input)
      reaching.push_back({at / axis.stride, k});
  }
  return reaching;
}

/// Taps of one position, for all channels of a group, which are `channel` apart.
class Reaching {
 public:
  Reaching(std::vector<WindowAxis> axes, std::int64_t channels, Pair channel)
      : axes_(std::move(axes)), channels_(channels), channel_(channel) {}

  std::int64_t operator()(std::int64_t position, std::vector<Pair>& taps) const {
    taps.assign(1, Pair{});
    Pair stride{1, 1};
    for (std::size_t d = axes_.size(); d-- > 0; position /= axes_[d].output) {
      std::vector<Pair> last_axes = std::exchange(taps, {});
      for (const Pair& at : ReachingAlong(axes_[d], position % axes_[d].output)) {
        for (const Pair& tap : last_axes) {
          taps.push_back({at.a * stride.a + tap.a, at.b * stride.b + tap.b});
        }
      }
      stride.a *= axes_[d].input;
      stride.b *= axes_[d].kernel;
    }
    const std::vector<Pair> one = std::exchange(taps, {});
    for (std::int64_t c = 0; c < channels_; ++c) {
      for (const Pair& tap : one) {
        taps.push_back({tap.a + c * channel_.a, tap.b + c * channel_.b});
      }
    }
    return 1;
  }

 private:
  std::vector<WindowAxis> axes_;
  std::int64_t channels_;
  Pair channel_;
};

struct Shape {
  std::int64_t batch = 0, channels = 0, groups = 1, filters = 0;  // filters of a group
};
Result<Shape> ShapeOf(const NodePlan& node, const Dims& x, const Dims& w) {
  const Shape shape{x[0], x[1], node.Int("group"), w[1]};
  if (shape.groups > kMostFilters || shape.filters > kMostFilters) {
    return node.Unsupported("as many filters");
  }
  return shape;
}

}  // namespace

StepResult PrepareConvTranspose(const NodePlan& node) {
  Sum sum;
  QTX_ASSIGN_OR_RETURN(sum.a, node.Input(0));
  QTX_ASSIGN_OR_RETURN(sum.b, node.Input(1));
  const Dims& x = sum.a->tensor.dims;
  const Dims& w = sum.b->tensor.dims;
  QTX_ASSIGN_OR_RETURN(const Shape shape, ShapeOf(node, x, w));
  const std::int64_t all_filters = shape.groups * shape.filters;
  if (node.HasInput(2)) {
    QTX_ASSIGN_OR_RETURN(sum.addend, node.Input(2));
  }
  QTX_ASSIGN_OR_RETURN(const auto axes, WithinLimits(node, format::TransposedWindowAxes(
                                                               node.node(), std::span(x).subspan(2),
                                                               std::span(w).subspan(2))));
  QTX_ASSIGN_OR_RETURN(Value * y, node.Output(OutputDims(axes, shape.batch, all_filters)));
  Walk walk;
  Pair plane{1, 1};
  walk.terms = 1;
  for (const WindowAxis& axis : axes) {
    plane.a *= axis.input;
    plane.b *= axis.kernel;
    walk.positions *= axis.output;
    walk.terms *= static_cast<double>(axis.input) * static_cast<double>(axis.kernel);
  }
  const std::int64_t channels = shape.channels / shape.groups;
  for (std::int64_t n = 0; n < shape.batch; ++n) {
    for (std::int64_t m = 0; m < all_filters; ++m) {
      const std::int64_t first = m / shape.filters * channels;
      walk.planes.push_back({(n * shape.channels + first) * plane.a,
                             (first * shape.filters + m % shape.filters) * plane.b});
      if (sum.addend != nullptr) sum.addend_index.push_back(m);
    }
  }
  walk.terms *= static_cast<double>(channels) * static_cast<double>(walk.planes.size());
  walk.taps_at = Reaching(axes, channels, {plane.a, shape.filters * plane.b});
  return MakeSum(node, std::move(sum), std::move(walk), y);
}

}  // namespace qtx::backend::engine
