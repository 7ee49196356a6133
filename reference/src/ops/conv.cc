#include "arithmetic/product.h"
#include "ops/common.h"
#include "ops/registry.h"
#include "ops/window.h"

namespace qtx::reference::ops {
namespace {

using format::AttributeType;
using format::Dims;

// Sizes of one call.  x [batch, group * depth, spatial], w [channels, depth, kernel].
struct Geometry {
  std::int64_t batch, group, depth, channels;
  std::int64_t pixels;  // spatial size of x
  std::int64_t kernel;  // spatial size of w
  Window window;

  std::int64_t ChannelsPerGroup() const { return channels / group; }
  std::int64_t Output(std::int64_t n, std::int64_t m, std::int64_t position) const {
    return (n * channels + m) * window.positions() + position;
  }
  // First element of group g's channels in image n.
  std::int64_t Image(std::int64_t n, std::int64_t g) const {
    return (n * group + g) * depth * pixels;
  }
};

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

Result<Geometry> GeometryOf(const Call& call, const Dims& x, const Dims& w) {
  QTX_RETURN_IF_ERROR(CheckShapes(call, x, w));
  const std::span<const std::int64_t> spatial(x.data() + 2, x.size() - 2);
  const std::span<const std::int64_t> kernel(w.data() + 2, w.size() - 2);
  QTX_ASSIGN_OR_RETURN(Window window, Window::Make(call.node, spatial, kernel));
  QTX_ASSIGN_OR_RETURN(const std::int64_t pixels, format::ElementCount(spatial));
  QTX_ASSIGN_OR_RETURN(const std::int64_t kernel_size, format::ElementCount(kernel));
  return Geometry{
      x[0], call.node.IntOr("group", 1), w[1], w[0], pixels, kernel_size, std::move(window)};
}

template <typename T>
std::vector<T> IntegersOf(const Operand& operand) {
  const std::int64_t count = format::ElementCount(operand.tensor());
  std::vector<T> integers;
  integers.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) integers.push_back(static_cast<T>(operand.integer(i)));
  return integers;
}

// The window of one group laid out like a row of w, zeros outside x.
template <typename T>
void Gather(const Geometry& g, const T* image, const std::vector<Tap>& taps,
            std::vector<T>* patch) {
  const bool partial = static_cast<std::int64_t>(taps.size()) < g.kernel;
  if (partial) std::fill(patch->begin(), patch->end(), T{0});
  for (std::int64_t c = 0; c < g.depth; ++c) {
    const T* channel = image + c * g.pixels;
    T* row = patch->data() + c * g.kernel;
    for (const Tap& tap : taps) row[tap.kernel] = channel[tap.input];
  }
}

// conv.S1 in integers: each window is multiplied with every row of its group.
template <typename T>
void ConvolveIntegers(const Geometry& g, const Operand& x, const Operand& w, ProductSum* sum) {
  const std::vector<T> xs = IntegersOf<T>(x);
  const std::vector<T> ws = IntegersOf<T>(w);
  std::vector<T> patch(static_cast<std::size_t>(g.depth * g.kernel));
  std::vector<Tap> taps;
  for (std::int64_t position = 0; position < g.window.positions(); ++position) {
    g.window.TapsAt(position, &taps);
    for (std::int64_t image = 0; image < g.batch * g.group; ++image) {
      const std::int64_t n = image / g.group;
      const std::int64_t group = image % g.group;
      Gather(g, xs.data() + g.Image(n, group), taps, &patch);
      for (std::int64_t i = 0; i < g.ChannelsPerGroup(); ++i) {
        const std::int64_t m = group * g.ChannelsPerGroup() + i;
        const std::int64_t dot =
            sum->Sum(patch.data(), ws.data() + m * g.depth * g.kernel, g.depth, g.kernel);
        sum->PutAccumulator(g.Output(n, m, position), m, dot, m);
      }
    }
  }
}

// conv.S1 over any reals, in the order channel, kernel. Taps outside x contribute nothing.
void ConvolveReals(const Geometry& g, ProductSum* sum) {
  std::vector<Tap> taps;
  std::vector<std::int64_t> xs;
  std::vector<std::int64_t> ws;
  for (std::int64_t position = 0; position < g.window.positions(); ++position) {
    g.window.TapsAt(position, &taps);
    for (std::int64_t n = 0; n < g.batch; ++n) {
      for (std::int64_t m = 0; m < g.channels; ++m) {
        xs.clear();
        ws.clear();
        for (std::int64_t c = 0; c < g.depth; ++c) {
          for (const Tap& tap : taps) {
            xs.push_back(g.Image(n, m / g.ChannelsPerGroup()) + c * g.pixels + tap.input);
            ws.push_back((m * g.depth + c) * g.kernel + tap.kernel);
          }
        }
        sum->PutPairs(g.Output(n, m, position), m, xs, ws);
      }
    }
  }
}

Result<format::Tensor> Conv(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Operand x, RealAt(call, 0));
  QTX_ASSIGN_OR_RETURN(const Operand w, RealAt(call, 1));
  QTX_ASSIGN_OR_RETURN(const std::optional<Operand> b, OptionalNumberAt(call, 2));
  QTX_ASSIGN_OR_RETURN(const Geometry geometry, GeometryOf(call, x.tensor().dims, w.tensor().dims));
  Dims dims = {geometry.batch, geometry.channels};
  dims.insert(dims.end(), geometry.window.output().begin(), geometry.window.output().end());
  QTX_ASSIGN_OR_RETURN(Output output, Output::Make(call, dims));
  const ProductOperands operands{.x = &x, .w = &w, .bias = PointerTo(b), .w_channel_axis = 0};
  ProductSum sum(call, operands, &output);
  if (!sum.integer()) {
    ConvolveReals(geometry, &sum);
  } else if (sum.narrow()) {
    ConvolveIntegers<std::int16_t>(geometry, x, w, &sum);
  } else {
    ConvolveIntegers<std::int32_t>(geometry, x, w, &sum);
  }
  return output.Take();
}

constexpr AttributeRule kAttributes[] = {
    {"auto_pad", AttributeType::kString}, {"dilations", AttributeType::kInts},
    {"group", AttributeType::kInt},       {"kernel_shape", AttributeType::kInts},
    {"pads", AttributeType::kInts},       {"strides", AttributeType::kInts},
};

}  // namespace

const Operator kConv = {.op_type = "Conv",
                        .min_inputs = 2,
                        .max_inputs = 3,
                        .attributes = kAttributes,
                        .check = CheckWindowAttributes,
                        .run = Conv};

}  // namespace qtx::reference::ops
