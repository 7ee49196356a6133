// MaxPool and AveragePool.
#include <algorithm>
#include <limits>

#include "float/operator.h"
#include "float/window.h"

namespace qtx::backend::floats {
namespace {

using format::Dims;
using format::Tensor;

// The divisor of each window's sum: the number of its taps inside the input or, with `padding`,
// inside the padded input. Taps that ceil_mode adds beyond never count.
std::vector<float> Divisors(const Window& window, bool padding) {
  std::vector<std::int64_t> counts[2];
  for (std::size_t i = 0; i < 2; ++i) {
    const Axis& axis = window[i];
    const std::int64_t low = padding ? -axis.pad_begin : 0;
    const std::int64_t high = axis.input + (padding ? axis.pad_end : 0);
    for (std::int64_t out = 0; out < axis.output; ++out) {
      std::int64_t count = 0;
      for (std::int64_t k = 0; k < axis.kernel; ++k) {
        const std::int64_t at = out * axis.stride - axis.pad_begin + k * axis.dilation;
        if (at >= low && at < high) ++count;
      }
      counts[i].push_back(count);
    }
  }
  std::vector<float> divisors;
  for (const std::int64_t y : counts[0]) {
    for (const std::int64_t x : counts[1]) divisors.push_back(static_cast<float>(y * x));
  }
  return divisors;
}

// The window without what lies behind the image for each result: exporters write kernels of the
// largest image that a network takes.
Window WithinImage(Window window) {
  for (Axis& axis : window) {
    const std::int64_t reached = (axis.input - 1 + axis.pad_begin) / axis.dilation + 1;
    axis.kernel = std::min(axis.kernel, reached);
    if (axis.output == 1) axis.stride = 1;
  }
  return window;
}

class Pool : public Operator {
 public:
  Pool(const NodeInfo& info, bool mean)
      : node_(info.node),
        mean_(mean),
        counts_padding_(mean && info.attributes.Int("count_include_pad") != 0) {}

  bool Takes(Inputs inputs) const override {
    return Operator::Takes(inputs) && IsPlanar(*inputs[0]);
  }

  Result<Tensor> Run(const Context& context, Inputs inputs) const override {
    const Tensor* x = InputOr(inputs, 0);
    const auto spatial = std::span(x->dims).subspan(2);
    QTX_ASSIGN_OR_RETURN(const Window window,
                         WindowOf(node_, spatial, node_.IntsOr("kernel_shape", {})));
    QTX_ASSIGN_OR_RETURN(const Planes planes, Planes::For(WithinImage(window)));
    Dims dims{x->dims[0], x->dims[1]};
    for (std::size_t axis = 4 - x->dims.size(); axis < 2; ++axis)
      dims.push_back(window[axis].output);
    QTX_ASSIGN_OR_RETURN(Tensor y, context.buffers.NewTensor(std::move(dims)));
    const std::vector<float> divisors =
        mean_ ? Divisors(window, counts_padding_) : std::vector<float>();
    const std::int64_t in = window[0].input * window[1].input;
    const std::int64_t out = window[0].output * window[1].output;
    const std::int64_t channels = x->dims[0] * x->dims[1];
    const float padding = mean_ ? 0.0F : -std::numeric_limits<float>::infinity();
    WindowRows rows{.offsets = planes.offsets().data(),
                    .taps = std::ssize(planes.offsets()),
                    .rows = window[0].output,
                    .columns = window[1].output,
                    .pitch = planes.pitch(),
                    .divisors = divisors.data()};
    ForChannels(context, channels, channels * out * rows.taps,
                [&, rows](std::int64_t begin, std::int64_t end) mutable {
                  Scratch plane(context.buffers, planes.size() + kMaxLanes);
                  rows.plane = plane.data();
                  for (std::int64_t c = begin; c < end; ++c) {
                    planes.Fill(context.kernels, DataOf(*x) + c * in, padding, plane.data());
                    rows.out = DataOf(y) + c * out;
                    mean_ ? context.kernels.means(rows) : context.kernels.maxima(rows);
                  }
                });
    return y;
  }

 private:
  const format::Node& node_;
  bool mean_, counts_padding_;
};

Result<std::unique_ptr<Operator>> Make(const NodeInfo& info, bool mean) {
  const bool two_outputs = info.node.outputs.size() > 1 && !info.node.outputs[1].empty();
  if (two_outputs || info.attributes.Ints("kernel_shape").size() > 2) {
    return std::unique_ptr<Operator>();
  }
  return std::make_unique<Pool>(info, mean);
}

}  // namespace

Result<std::unique_ptr<Operator>> MakeMaxPool(const NodeInfo& info) { return Make(info, false); }
Result<std::unique_ptr<Operator>> MakeAveragePool(const NodeInfo& info) { return Make(info, true); }

}  // namespace qtx::backend::floats
