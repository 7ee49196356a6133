// ConvTranspose: every element of y sums the products that reach it.  Source:
// spec/ops/conv_transpose.md.
#include <algorithm>
#include <string>
#include <utility>

#include "engine/ops/operators.h"
#include "engine/ops/reduction.h"

namespace qtx::backend::engine {
namespace {

using format::Dims;

constexpr std::int64_t kLargestAttribute = std::int64_t{1} << 24;

struct Axis {
  std::int64_t in = 1, kernel = 1, stride = 1, dilation = 1, pad_begin = 0, out = 1;
};

Result<std::vector<std::int64_t>> Bounded(const NodePlan& node, const char* name, std::size_t size,
                                          std::int64_t fallback, std::int64_t least) {
  const auto values = node.node().IntsOr(name, std::vector<std::int64_t>(size, fallback));
  if (values.size() != size || (size > 0 && *std::ranges::min_element(values) < least)) {
    return node.Invalid(std::string(name) + ": expected " + std::to_string(size) +
                        " values of at least " + std::to_string(least));
  }
  if (size > 0 && *std::ranges::max_element(values) > kLargestAttribute) {
    return node.Unsupported(std::string(name) + ": supported up to 2^24");
  }
  return values;
}

// Pads and sizes; `full` is the size without pads.
Result<void> SetSize(const NodePlan& node, std::size_t d, std::int64_t full, std::int64_t pad_end,
                     const std::vector<std::int64_t>& output_shape, Axis& axis) {
  const std::string auto_pad = node.node().StringOr("auto_pad", "NOTSET");
  const bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
  if (!same && auto_pad != "NOTSET" && auto_pad != "VALID") {
    return node.Invalid("auto_pad '" + auto_pad + "'");
  }
  if (!output_shape.empty() || same) {
    axis.out = output_shape.empty() ? axis.in * axis.stride : output_shape[d];
    const std::int64_t padding = std::max<std::int64_t>(full - axis.out, 0);
    axis.pad_begin = auto_pad == "SAME_UPPER" ? padding / 2 : padding - padding / 2;
  } else if (auto_pad == "VALID") {
    axis.pad_begin = 0;
    axis.out = full;
  } else {
    axis.out = full - axis.pad_begin - pad_end;
  }
  if (axis.out < 1) return node.Invalid("an output without elements");
  return {};
}

Result<std::vector<Axis>> AxesOf(const NodePlan& node, std::span<const std::int64_t> in,
                                 const std::vector<std::int64_t>& kernel) {
  const std::size_t rank = in.size();
  QTX_ASSIGN_OR_RETURN(const auto strides, Bounded(node, "strides", rank, 1, 1));
  QTX_ASSIGN_OR_RETURN(const auto dilations, Bounded(node, "dilations", rank, 1, 1));
  QTX_ASSIGN_OR_RETURN(const auto pads, Bounded(node, "pads", 2 * rank, 0, 0));
  QTX_ASSIGN_OR_RETURN(const auto more, Bounded(node, "output_padding", rank, 0, 0));
  std::vector<std::int64_t> output_shape;
  if (node.node().Find("output_shape") != nullptr) {
    QTX_ASSIGN_OR_RETURN(output_shape, Bounded(node, "output_shape", rank, 1, 1));
  }
  if (node.node().IntsOr("kernel_shape", kernel) != kernel) {
    return node.Invalid("kernel_shape differs from the weights");
  }
  std::vector<Axis> axes;
  for (std::size_t d = 0; d < rank; ++d) {
    if (in[d] < 1 || kernel[d] < 1) return node.Invalid("an empty window or input");
    if (in[d] > kLargestAttribute || kernel[d] > kLargestAttribute) {
      return node.Unsupported("an axis this long");
    }
    if (more[d] != 0 && more[d] >= strides[d] && more[d] >= dilations[d]) {
      return node.Invalid("output_padding is not less than the stride or the dilation");
    }
    Axis axis{in[d], kernel[d], strides[d], dilations[d], pads[d], 1};
    const std::int64_t full =
        strides[d] * (in[d] - 1) + more[d] + dilations[d] * (kernel[d] - 1) + 1;
    QTX_RETURN_IF_ERROR(SetSize(node, d, full, pads[rank + d], output_shape, axis));
    axes.push_back(axis);
  }
  return axes;
}

// What reaches position `out` of an axis: elements of x and of the kernel.
std::vector<Pair> ReachingAlong(const Axis& axis, std::int64_t out) {
  std::vector<Pair> reaching;
  for (std::int64_t k = 0; k < axis.kernel; ++k) {
    const std::int64_t at = out + axis.pad_begin - k * axis.dilation;
    if (at < 0) break;
    if (at % axis.stride == 0 && at / axis.stride < axis.in)
      reaching.push_back({at / axis.stride, k});
  }
  return reaching;
}

/// Taps of one position, for all channels of a group, which are `channel` apart.
class Reaching {
 public:
  Reaching(std::vector<Axis> axes, std::int64_t channels, Pair channel)
      : axes_(std::move(axes)), channels_(channels), channel_(channel) {}

  std::int64_t operator()(std::int64_t position, std::vector<Pair>& taps) const {
    taps.assign(1, Pair{});
    Pair stride{1, 1};
    for (std::size_t d = axes_.size(); d-- > 0; position /= axes_[d].out) {
      std::vector<Pair> inner = std::exchange(taps, {});
      for (const Pair& at : ReachingAlong(axes_[d], position % axes_[d].out)) {
        for (const Pair& tap : inner) {
          taps.push_back({at.a * stride.a + tap.a, at.b * stride.b + tap.b});
        }
      }
      stride.a *= axes_[d].in;
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
  std::vector<Axis> axes_;
  std::int64_t channels_;
  Pair channel_;
};

struct Shape {
  std::int64_t batch = 0, channels = 0, groups = 1, filters = 0;  // filters of a group
};
Result<Shape> ShapeOf(const NodePlan& node, const Dims& x, const Dims& w) {
  if (x.size() < 3 || w.size() != x.size()) {
    return node.Invalid("x is " + format::ToString(x) + " and w " + format::ToString(w));
  }
  const Shape shape{x[0], x[1], node.node().IntOr("group", 1), w[1]};
  if (shape.groups < 1 || shape.channels % shape.groups != 0 || w[0] != shape.channels ||
      shape.filters < 1) {
    return node.Invalid("x is " + format::ToString(x) + ", w " + format::ToString(w) +
                        " and group " + std::to_string(shape.groups));
  }
  if (shape.groups > kLargestAttribute || shape.filters > kLargestAttribute) {
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
    if (sum.addend->tensor.dims != Dims{all_filters}) return node.Invalid("b is not [M]");
  }
  QTX_ASSIGN_OR_RETURN(const auto axes,
                       AxesOf(node, std::span(x).subspan(2), {w.begin() + 2, w.end()}));
  Dims dims{shape.batch, all_filters};
  for (const Axis& axis : axes) dims.push_back(axis.out);
  QTX_ASSIGN_OR_RETURN(Value * y, node.Output(dims));
  Walk walk;
  Pair plane{1, 1};
  walk.terms = 1;
  for (const Axis& axis : axes) {
    plane.a *= axis.in;
    plane.b *= axis.kernel;
    walk.positions *= axis.out;
    walk.terms *= static_cast<double>(axis.in) * static_cast<double>(axis.kernel);
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
