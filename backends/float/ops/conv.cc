// Conv: a matrix product of the weights with the windows, or for one channel a group, taps one by
// one. Each result is the bias and then the taps by channel, row and column of the weights; padding
// takes part as zeros.
#include <algorithm>
#include <cstring>
#include <optional>

#include "float/product.h"
#include "float/window.h"

namespace qtx::backend::floats {
namespace {

using format::Dims;
using format::Tensor;

struct Shape {
  std::int64_t batch = 1, channels = 0, outputs = 0, groups = 1;
  Window window;
  Dims dims;  // of the result

  std::int64_t depth_channels() const { return channels / groups; }
  std::int64_t group_outputs() const { return outputs / groups; }
  std::int64_t pixels() const { return window[0].output * window[1].output; }
  std::int64_t in_pixels() const { return window[0].input * window[1].input; }
  std::int64_t taps() const { return window[0].kernel * window[1].kernel; }
  std::int64_t depth() const { return depth_channels() * taps(); }
};

Result<Shape> ShapeOf(const format::Node& node, std::int64_t groups, const Dims& x, const Dims& w) {
  Shape shape;
  shape.batch = x[0];
  shape.channels = x[1];
  shape.outputs = w[0];
  shape.groups = groups;
  QTX_ASSIGN_OR_RETURN(shape.window,
                       WindowOf(node, std::span(x).subspan(2), std::span(w).subspan(2)));
  shape.dims = {shape.batch, shape.outputs};
  for (std::size_t axis = 4 - x.size(); axis < 2; ++axis) {
    shape.dims.push_back(shape.window[axis].output);
  }
  return shape;
}

// The weights of each group, packed.
std::vector<float> PackWeights(const Kernels& kernels, const float* w, std::int64_t groups,
                               std::int64_t outputs, std::int64_t depth) {
  std::vector<float> packed(static_cast<std::size_t>(groups * outputs * depth));
  for (std::int64_t g = 0; g < groups; ++g) {
    const std::int64_t offset = g * outputs * depth;
    PackRows(kernels, {w + offset, depth, 1}, outputs, depth, packed.data() + offset);
  }
  return packed;
}

// Results of one image.
class Image {
 public:
  Image(const Context& context, const Shape& shape, const Planes& planes, const float* x, float* y)
      : context_(context), shape_(shape), planes_(planes), x_(x), y_(y) {}

  void RunDepthwise(const float* w, const float* bias, const Epilogue& epilogue) const {
    ForChannels(context_, shape_.channels, shape_.outputs * shape_.pixels() * shape_.taps(),
                [&](std::int64_t begin, std::int64_t end) {
                  Scratch plane(context_.buffers, planes_.size() + kMaxLanes);
                  for (std::int64_t c = begin; c < end; ++c) {
                    planes_.Fill(context_.kernels, x_ + c * shape_.in_pixels(), 0, plane.data());
                    RunChannel(c, plane.data(), w, bias, epilogue);
                  }
                });
  }

  void RunProduct(const float* packed, const float* bias, const Epilogue& epilogue) const {
    std::optional<Scratch> filled;
    const float* planes = x_;
    if (!planes_.same()) {
      filled.emplace(context_.buffers, shape_.channels * planes_.size());
      planes = filled->data();
      const std::int64_t parts = planes_.parts();
      context_.workers.For(shape_.channels * parts, shape_.channels * planes_.size(),
                           [&](std::int64_t i) {
                             const std::int64_t c = i / parts;
                             planes_.FillPart(context_.kernels, x_ + c * shape_.in_pixels(), 0,
                                              i % parts, filled->data() + c * planes_.size());
                           });
    }
    std::vector<Epilogue> epilogues;
    std::vector<MatrixProduct> products;
    for (std::int64_t g = 0; g < shape_.groups; ++g) {
      epilogues.push_back(epilogue.From(g * shape_.group_outputs()));
    }
    for (std::int64_t g = 0; g < shape_.groups; ++g) {
      const std::int64_t row = g * shape_.group_outputs();
      const float* group = planes + g * shape_.depth_channels() * planes_.size();
      MatrixProduct p;
      p.rows = shape_.group_outputs();
      p.columns = p.stride = shape_.pixels();
      p.depth = shape_.depth();
      p.a = packed + row * p.depth;
      p.pack = [this, group](const Block& block, float* out) { Pack(group, block, out); };
      p.c = y_ + row * p.columns;
      p.initial = bias == nullptr ? nullptr : bias + row;
      if (!epilogue.none()) p.epilogue = &epilogues[static_cast<std::size_t>(g)];
      products.push_back(std::move(p));
    }
    Multiply(context_, products);
  }

 private:
  void RunChannel(std::int64_t channel, const float* plane, const float* w, const float* bias,
                  const Epilogue& epilogue) const {
    const std::int64_t outputs = shape_.group_outputs();
    for (std::int64_t o = channel * outputs; o < (channel + 1) * outputs; ++o) {
      const Epilogue own = epilogue.From(o);
      context_.kernels.products({.plane = plane,
                                 .offsets = planes_.offsets().data(),
                                 .weights = w + o * shape_.taps(),
                                 .taps = shape_.taps(),
                                 .rows = shape_.window[0].output,
                                 .columns = shape_.window[1].output,
                                 .pitch = planes_.pitch(),
                                 .out = y_ + o * shape_.pixels(),
                                 .initial = bias == nullptr ? 0.0F : bias[o],
                                 .epilogue = own.none() ? nullptr : &own});
    }
  }

  // Results that lie side by side in a plane.
  struct Run {
    std::int64_t offset, length;
  };

  std::vector<Run> RunsOf(const Block& block) const {
    std::vector<Run> runs;
    const std::int64_t columns =
        planes_.pitch() == shape_.window[1].output ? shape_.pixels() : shape_.window[1].output;
    for (std::int64_t p = block.column; p < block.column + block.columns;) {
      const std::int64_t x = p % columns;
      const std::int64_t n = std::min(columns - x, block.column + block.columns - p);
      runs.push_back({p / columns * planes_.pitch() + x, n});
      p += n;
    }
    return runs;
  }

  void Pack(const float* planes, const Block& block, float* out) const {
    const std::vector<Run> runs = RunsOf(block);
    const auto offsets = planes_.offsets();
    const auto taps = std::ssize(offsets);
    for (std::int64_t k = block.row; k < block.row + block.rows; ++k, out += block.width) {
      const float* from =
          planes + k / taps * planes_.size() + offsets[static_cast<std::size_t>(k % taps)];
      float* to = out;
      for (const Run& run : runs) {
        context_.kernels.fill({.from = from + run.offset, .count = run.length, .out = to});
        to += run.length;
      }
      std::fill(to, out + block.width, 0.0F);
    }
  }

  const Context& context_;
  const Shape& shape_;
  const Planes& planes_;
  const float* x_;
  float* y_;
};

class Conv : public Operator {
 public:
  explicit Conv(const NodeInfo& info) : node_(info.node), groups_(info.attributes.Int("group")) {
    const Tensor* w = InputOr(info.constants, 1);
    if (w == nullptr || w->elem_type != format::ElementType::kFloat) return;
    outputs_ = w->dims[0];
    if (w->dims[1] == 1 && groups_ > 1) return;  // taps one by one
    const std::int64_t depth = Product(std::span(w->dims).subspan(1));
    packed_ = PackWeights(info.kernels, DataOf(*w), groups_, outputs_ / groups_, depth);
  }

  bool Fuses() const override { return true; }
  std::int64_t channels() const override { return outputs_; }
  bool Packed(std::size_t input) const override { return input == 1 && !packed_.empty(); }

  Result<Tensor> Run(const Context& context, Inputs inputs) const override {
    return RunFused(context, inputs, {});
  }

  bool Takes(Inputs inputs) const override {
    return Operator::Takes(inputs) && IsPlanar(*inputs[0]);
  }

  Result<Tensor> RunFused(const Context& context, Inputs inputs,
                          const Epilogue& epilogue) const override {
    const Tensor* x = InputOr(inputs, 0);
    const Tensor* w = InputOr(inputs, 1);
    const Tensor* bias = InputOr(inputs, 2);
    QTX_ASSIGN_OR_RETURN(const Shape shape, ShapeOf(node_, groups_, x->dims, w->dims));
    QTX_ASSIGN_OR_RETURN(const Planes planes, Planes::For(shape.window));
    QTX_RETURN_IF_ERROR(format::ElementCount(std::vector{shape.channels, planes.size()}));
    QTX_ASSIGN_OR_RETURN(Tensor y, context.buffers.NewTensor(shape.dims));
    const bool depthwise = shape.depth_channels() == 1 && shape.groups > 1;
    std::vector<float> computed;  // weights that are not constant
    if (!depthwise && packed_.empty()) {
      computed = PackWeights(context.kernels, DataOf(*w), shape.groups, shape.group_outputs(),
                             shape.depth());
    }
    const float* packed = packed_.empty() ? computed.data() : packed_.data();
    const float* b = bias == nullptr ? nullptr : DataOf(*bias);
    for (std::int64_t n = 0; n < shape.batch; ++n) {
      const Image image(context, shape, planes, DataOf(*x) + n * shape.channels * shape.in_pixels(),
                        DataOf(y) + n * shape.outputs * shape.pixels());
      if (depthwise) {
        image.RunDepthwise(DataOf(*w), b, epilogue);
      } else {
        image.RunProduct(packed, b, epilogue);
      }
    }
    return y;
  }

 private:
  const format::Node& node_;
  std::int64_t groups_;
  std::int64_t outputs_ = 0;
  std::vector<float> packed_;
};

}  // namespace

Result<std::unique_ptr<Operator>> MakeConv(const NodeInfo& info) {
  if (const Tensor* w = InputOr(info.constants, 1); w != nullptr && w->dims.size() > 4) {
    return std::unique_ptr<Operator>();
  }
  return std::make_unique<Conv>(info);
}

}  // namespace qtx::backend::floats
