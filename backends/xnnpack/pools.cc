// MaxPool, AveragePool and their global forms as XNNPACK operators.
#include "kinds.h"
#include "peer/window.h"

namespace qtx::backend::xnnpack {
namespace {

using format::ElementType;
using peer::Reader;
using peer::Value;
using peer::Window;

struct Pool {
  const Value* x = nullptr;
  const Value* y = nullptr;
  Window window;
  std::size_t batch = 1, channels = 1, height = 1, width = 1;
  Data in, out;
};

template <typename T, typename Create, typename Setup, typename... Arguments>
Result<void> Run2d(const Reader& node, Net& net, const Pool& p, Create create, Setup setup,
                   Arguments... arguments) {
  const Window& w = p.window;
  xnn_operator_t op = nullptr;
  QTX_RETURN_IF_ERROR(Check(create(U32(w.pads_begin[0]), U32(w.pads_end[1]), U32(w.pads_end[0]),
                                   U32(w.pads_begin[1]), U32(w.kernel[0]), U32(w.kernel[1]),
                                   U32(w.strides[0]), U32(w.strides[1]), arguments..., 0U, &op),
                            Place(node)));
  Operator owned = Own(op);
  QTX_RETURN_IF_ERROR(
      Check(setup(op, p.batch, p.height, p.width, reinterpret_cast<const T*>(p.in.bytes),
                  reinterpret_cast<T*>(p.out.bytes), net.pool()),
            Place(node)));
  net.Add(std::move(owned));
  return {};
}

constexpr float kUnbounded = std::numeric_limits<float>::infinity();

Result<void> AddMax(const Reader& node, Net& net, const Pool& p, bool reals) {
  const std::uint32_t dilation_y = U32(p.window.dilations[0]);
  const std::uint32_t dilation_x = U32(p.window.dilations[1]);
  if (reals) {
    return Run2d<float>(node, net, p, xnn_create_max_pooling2d_nhwc_f32,
                        xnn_setup_max_pooling2d_nhwc_f32, dilation_y, dilation_x, p.channels,
                        p.channels, p.channels, -kUnbounded, kUnbounded);
  }
  const auto range = p.y->range();
  return ForBytes(*p.x, [&]<typename Kind>(Kind) {
    using T = typename Kind::T;
    return Run2d<T>(node, net, p, Kind::kCreateMax, Kind::kSetupMax, dilation_y, dilation_x,
                    p.channels, p.channels, p.channels, static_cast<T>(range.min),
                    static_cast<T>(range.max));
  });
}

// The mean of whole planes.
template <typename T, typename Create, typename Setup, typename... Arguments>
Result<void> Mean(const Reader& node, Net& net, const Pool& p, Create create, Setup setup,
                  Arguments... arguments) {
  xnn_operator_t op = nullptr;
  QTX_RETURN_IF_ERROR(
      Check(create(p.channels, p.channels, p.channels, arguments..., 0U, &op), Place(node)));
  Operator owned = Own(op);
  QTX_RETURN_IF_ERROR(
      Check(setup(op, p.batch, p.height * p.width, reinterpret_cast<const T*>(p.in.bytes),
                  reinterpret_cast<T*>(p.out.bytes), net.pool()),
            Place(node)));
  net.Add(std::move(owned));
  return {};
}

Result<void> AddMean(const Reader& node, Net& net, const Pool& p, bool reals, bool whole) {
  const Value &x = *p.x, &y = *p.y;
  if (reals && whole) {
    return Mean<float>(node, net, p, xnn_create_global_average_pooling_nwc_f32,
                       xnn_setup_global_average_pooling_nwc_f32, -kUnbounded, kUnbounded);
  }
  if (reals) {
    return Run2d<float>(node, net, p, xnn_create_average_pooling2d_nhwc_f32,
                        xnn_setup_average_pooling2d_nhwc_f32, p.channels, p.channels, p.channels,
                        -kUnbounded, kUnbounded);
  }
  // Debian's build asserts it, and its own check of the scales lets smaller factors through.
  const std::size_t count = whole ? p.height * p.width
                                  : static_cast<std::size_t>(p.window.kernel[0]) *
                                        static_cast<std::size_t>(p.window.kernel[1]);
  if (x.scale() / (y.scale() * static_cast<float>(count)) < 0x1p-32F) {
    return node.Unsupported("a factor below 2^-32, which the library asserts not to be");
  }
  const auto range = y.range();
  if (!whole) {
    return Run2d<std::uint8_t>(
        node, net, p, xnn_create_average_pooling2d_nhwc_qu8, xnn_setup_average_pooling2d_nhwc_qu8,
        p.channels, p.channels, p.channels, static_cast<std::uint8_t>(x.offset()), x.scale(),
        static_cast<std::uint8_t>(y.offset()), y.scale(), static_cast<std::uint8_t>(range.min),
        static_cast<std::uint8_t>(range.max));
  }
  return ForBytes(x, [&]<typename Kind>(Kind) {
    using T = typename Kind::T;
    return Mean<T>(node, net, p, Kind::kCreateMean, Kind::kSetupMean, static_cast<T>(x.offset()),
                   x.scale(), static_cast<T>(y.offset()), y.scale(), static_cast<T>(range.min),
                   static_cast<T>(range.max));
  });
}

// Two spatial axes; one is a row.
Result<Pool> PoolOf(const Reader& node) {
  QTX_RETURN_IF_ERROR(node.HasOneOutput());
  Pool p;
  QTX_ASSIGN_OR_RETURN(p.x, node.Input(0));
  if (p.x->rank() != 3 && p.x->rank() != 4) return node.Unsupported("more than two spatial axes");
  const format::Dims in(p.x->dims().begin() + 2, p.x->dims().end());
  QTX_ASSIGN_OR_RETURN(p.window,
                       WindowOf(node, in, node.op().starts_with("Global") ? in : format::Dims()));
  format::Dims dims = {p.x->dims()[0], p.x->dims()[1]};
  dims.insert(dims.end(), p.window.out.begin(), p.window.out.end());
  QTX_ASSIGN_OR_RETURN(p.y, node.Output(dims));
  if (in.size() == 1) {
    Window& w = p.window;
    for (auto* one : {&w.kernel, &w.strides, &w.dilations, &w.out}) one->insert(one->begin(), 1);
    for (auto* none : {&w.pads_begin, &w.pads_end}) none->insert(none->begin(), 0);
  }
  p.batch = static_cast<std::size_t>(dims[0]);
  p.channels = static_cast<std::size_t>(dims[1]);
  p.height = in.size() == 1 ? 1 : static_cast<std::size_t>(in[0]);
  p.width = static_cast<std::size_t>(in.back());
  return p;
}

}  // namespace

Result<void> AddPool(const Reader& node, Net& net) {
  QTX_ASSIGN_OR_RETURN(Pool p, PoolOf(node));
  const Window& w = p.window;
  const bool average = node.op().find("Average") != std::string::npos;
  // Means of bytes include padding, those of reals do not.
  const bool include = node.op() == "AveragePool" && node.Int("count_include_pad") != 0;
  const bool counts = w.padded() && include;
  const bool has_bytes = p.x->type() == ElementType::kUint8Q && include == w.padded() && !w.cut;
  if (average && (w.dilations[0] != 1 || w.dilations[1] != 1)) return node.Unsupported("dilations");
  const bool whole = !w.padded() && w.out[0] == 1 && w.out[1] == 1 &&
                     static_cast<std::size_t>(w.kernel[0]) == p.height &&
                     static_cast<std::size_t>(w.kernel[1]) == p.width;
  const bool bytes =
      p.x->is_byte() && p.x->type() == p.y->type() && p.x->per_tensor() && p.y->per_tensor();
  const bool direct = bytes && (average ? whole || has_bytes : peer::SameType(*p.x, *p.y));
  QTX_ASSIGN_OR_RETURN(
      p.in, direct ? net.Of(*p.x, Layout::kChannelsLast) : net.Reals(*p.x, Layout::kChannelsLast));
  if (average && counts && !direct) return node.Unsupported("count_include_pad");
  p.out = direct ? net.New(*p.y, Layout::kChannelsLast) : net.NewReals(*p.y, Layout::kChannelsLast);
  QTX_RETURN_IF_ERROR(average ? AddMean(node, net, p, !direct, whole)
                              : AddMax(node, net, p, !direct));
  if (!direct) return net.SetReals(*p.y, p.out);
  net.Set(*p.y, p.out);
  return {};
}

}  // namespace qtx::backend::xnnpack
