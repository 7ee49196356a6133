// Everything but Conv, Gemm and MatMul as XNNPACK operators.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "net.h"
#include "peer/move.h"
#include "peer/window.h"

namespace qtx::backend::xnnpack {
namespace {

using format::ElementType;
using peer::Reader;
using peer::Value;
using peer::Window;

std::size_t CountOf(const Value& value) {
  return static_cast<std::size_t>(format::ElementCount(value.tensor));
}

std::uint32_t U32(std::int64_t value) {
  return static_cast<std::uint32_t>(std::max<std::int64_t>(0, value));
}

std::string Place(const Reader& node) { return node.Unsupported("").where; }

// The functions for bytes of each kind.
struct Signed {
  using T = std::int8_t;
  static constexpr auto kCreateAdd = xnn_create_add_nd_qs8;
  static constexpr auto kSetupAdd = xnn_setup_add_nd_qs8;
  static constexpr auto kCreateSub = xnn_create_subtract_nd_qs8;
  static constexpr auto kSetupSub = xnn_setup_subtract_nd_qs8;
  static constexpr auto kCreateMul = xnn_create_multiply_nd_qs8;
  static constexpr auto kSetupMul = xnn_setup_multiply_nd_qs8;
  static constexpr auto kCreateMax = xnn_create_max_pooling2d_nhwc_s8;
  static constexpr auto kSetupMax = xnn_setup_max_pooling2d_nhwc_s8;
  static constexpr auto kCreateMean = xnn_create_global_average_pooling_nwc_qs8;
  static constexpr auto kSetupMean = xnn_setup_global_average_pooling_nwc_qs8;
  static constexpr auto kCreateClamp = xnn_create_clamp_nc_s8;
  static constexpr auto kSetupClamp = xnn_setup_clamp_nc_s8;
  static constexpr auto kCreateSigmoid = xnn_create_sigmoid_nc_qs8;
  static constexpr auto kSetupSigmoid = xnn_setup_sigmoid_nc_qs8;
  static constexpr auto kCreateTanh = xnn_create_tanh_nc_qs8;
  static constexpr auto kSetupTanh = xnn_setup_tanh_nc_qs8;
};
struct Unsigned {
  using T = std::uint8_t;
  static constexpr auto kCreateAdd = xnn_create_add_nd_qu8;
  static constexpr auto kSetupAdd = xnn_setup_add_nd_qu8;
  static constexpr auto kCreateSub = xnn_create_subtract_nd_qu8;
  static constexpr auto kSetupSub = xnn_setup_subtract_nd_qu8;
  static constexpr auto kCreateMul = xnn_create_multiply_nd_qu8;
  static constexpr auto kSetupMul = xnn_setup_multiply_nd_qu8;
  static constexpr auto kCreateMax = xnn_create_max_pooling2d_nhwc_u8;
  static constexpr auto kSetupMax = xnn_setup_max_pooling2d_nhwc_u8;
  static constexpr auto kCreateMean = xnn_create_global_average_pooling_nwc_qu8;
  static constexpr auto kSetupMean = xnn_setup_global_average_pooling_nwc_qu8;
  static constexpr auto kCreateClamp = xnn_create_clamp_nc_u8;
  static constexpr auto kSetupClamp = xnn_setup_clamp_nc_u8;
  static constexpr auto kCreateSigmoid = xnn_create_sigmoid_nc_qu8;
  static constexpr auto kSetupSigmoid = xnn_setup_sigmoid_nc_qu8;
  static constexpr auto kCreateTanh = xnn_create_tanh_nc_qu8;
  static constexpr auto kSetupTanh = xnn_setup_tanh_nc_qu8;
};

template <typename F>
auto ForBytes(const Value& value, F f) {
  return value.type() == ElementType::kInt8Q ? f(Signed{}) : f(Unsigned{});
}

struct Operands {
  Data a, b, y;
  std::vector<std::size_t> a_dims, b_dims;
};

std::vector<std::size_t> Sizes(const format::Dims& dims) { return {dims.begin(), dims.end()}; }

template <typename T, typename Create, typename Setup, typename... Arguments>
Result<void> Binary(const Reader& node, Net& net, const Operands& o, Create create, Setup setup,
                    Arguments... arguments) {
  xnn_operator_t op = nullptr;
  QTX_RETURN_IF_ERROR(Check(create(arguments..., 0U, &op), Place(node)));
  Operator owned = Own(op);
  QTX_RETURN_IF_ERROR(
      Check(setup(op, o.a_dims.size(), o.a_dims.data(), o.b_dims.size(), o.b_dims.data(),
                  reinterpret_cast<const T*>(o.a.bytes), reinterpret_cast<const T*>(o.b.bytes),
                  reinterpret_cast<T*>(o.y.bytes), net.pool()),
            Place(node)));
  net.Add(std::move(owned));
  return {};
}

Result<void> BinaryBytes(const Reader& node, Net& net, const Operands& o, const Value& a,
                         const Value& b, const Value& y) {
  const auto range = StoredBounds(y, node.bounds());
  return ForBytes(y, [&]<typename Kind>(Kind) {
    using T = typename Kind::T;
    const auto add = [&](auto create, auto setup) {
      return Binary<T>(node, net, o, create, setup, static_cast<T>(a.offset()), a.scale(),
                       static_cast<T>(b.offset()), b.scale(), static_cast<T>(y.offset()), y.scale(),
                       static_cast<T>(range.min), static_cast<T>(range.max));
    };
    if (node.op() == "Add") return add(Kind::kCreateAdd, Kind::kSetupAdd);
    if (node.op() == "Sub") return add(Kind::kCreateSub, Kind::kSetupSub);
    return add(Kind::kCreateMul, Kind::kSetupMul);
  });
}

Result<void> BinaryReals(const Reader& node, Net& net, const Operands& o) {
  const float low = node.bounds().low, high = node.bounds().high;
  if (node.op() == "Add")
    return Binary<float>(node, net, o, xnn_create_add_nd_f32, xnn_setup_add_nd_f32, low, high);
  if (node.op() == "Sub")
    return Binary<float>(node, net, o, xnn_create_subtract_nd_f32, xnn_setup_subtract_nd_f32, low,
                         high);
  if (node.op() == "Mul")
    return Binary<float>(node, net, o, xnn_create_multiply_nd_f32, xnn_setup_multiply_nd_f32, low,
                         high);
  if (node.op() == "Div")
    return Binary<float>(node, net, o, xnn_create_divide_nd_f32, xnn_setup_divide_nd_f32, low,
                         high);
  if (node.op() == "Max")
    return Binary<float>(node, net, o, xnn_create_maximum_nd_f32, xnn_setup_maximum_nd_f32);
  return Binary<float>(node, net, o, xnn_create_minimum_nd_f32, xnn_setup_minimum_nd_f32);
}

Result<void> AddBinary(const Reader& node, Net& net) {
  QTX_RETURN_IF_ERROR(node.Understands({}));
  if (node.input_count() != 2) return node.Unsupported("other than two inputs");
  QTX_ASSIGN_OR_RETURN(const Value* a, node.Input(0));
  QTX_ASSIGN_OR_RETURN(const Value* b, node.Input(1));
  QTX_ASSIGN_OR_RETURN(const format::Dims dims, Broadcast(node, a->dims(), b->dims()));
  QTX_ASSIGN_OR_RETURN(const Value* y, node.Output(dims));
  if (dims.size() > XNN_MAX_TENSOR_DIMS) return node.Unsupported("too many dimensions");
  const bool has_kernel = node.op() == "Add" || node.op() == "Sub" || node.op() == "Mul";
  const bool bytes = has_kernel && y->is_byte() && y->per_tensor() && a->type() == y->type() &&
                     b->type() == y->type() && a->per_tensor() && b->per_tensor();
  QTX_ASSIGN_OR_RETURN(const Data first, net.Of(*a));
  const Layout layout = a->dims() == b->dims() ? first.layout : Layout::kPlain;
  QTX_ASSIGN_OR_RETURN(const Data left, bytes ? net.Of(*a, layout) : net.Reals(*a, layout));
  QTX_ASSIGN_OR_RETURN(const Data right, bytes ? net.Of(*b, layout) : net.Reals(*b, layout));
  Operands o{left, right, {}, Sizes(a->dims()), Sizes(b->dims())};
  if (a->dims() == b->dims()) o.a_dims = o.b_dims = {CountOf(*a)};
  o.y = bytes ? net.New(*y, layout) : net.NewReals(*y, layout);
  if (!bytes) {
    QTX_RETURN_IF_ERROR(BinaryReals(node, net, o));
    return net.SetReals(*y, o.y);
  }
  net.Set(*y, o.y);
  return BinaryBytes(node, net, o, *a, *b, *y);
}

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

constexpr float kInfinity = std::numeric_limits<float>::infinity();

Result<void> AddMax(const Reader& node, Net& net, const Pool& p, bool reals) {
  const std::uint32_t dilation_y = U32(p.window.dilations[0]);
  const std::uint32_t dilation_x = U32(p.window.dilations[1]);
  if (reals) {
    return Run2d<float>(node, net, p, xnn_create_max_pooling2d_nhwc_f32,
                        xnn_setup_max_pooling2d_nhwc_f32, dilation_y, dilation_x, p.channels,
                        p.channels, p.channels, -kInfinity, kInfinity);
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
                       xnn_setup_global_average_pooling_nwc_f32, -kInfinity, kInfinity);
  }
  if (reals) {
    return Run2d<float>(node, net, p, xnn_create_average_pooling2d_nhwc_f32,
                        xnn_setup_average_pooling2d_nhwc_f32, p.channels, p.channels, p.channels,
                        -kInfinity, kInfinity);
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
  QTX_RETURN_IF_ERROR(node.Understands({"auto_pad", "ceil_mode", "count_include_pad", "dilations",
                                        "kernel_shape", "pads", "storage_order", "strides"}));
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

Result<void> AddPool(const Reader& node, Net& net) {
  QTX_ASSIGN_OR_RETURN(Pool p, PoolOf(node));
  const Window& w = p.window;
  const bool average = node.op().find("Average") != std::string::npos;
  // Of padding, the means of bytes count it, those of reals do not.
  const bool include = node.node().IntOr("count_include_pad", 0) != 0;
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

Result<void> FunctionOfReals(const Reader& node, Net& net, std::size_t n, Data x, Data y) {
  const std::string at = Place(node);
  const std::string& op = node.op();
  const auto add = [&](auto create, auto setup, auto... arguments) {
    return AddUnary(net, at, n, x, y, create, setup, 1, arguments...);
  };
  if (op == "Abs") return add(xnn_create_abs_nc_f32, xnn_setup_abs_nc_f32);
  if (op == "Elu")
    return add(xnn_create_elu_nc_f32, xnn_setup_elu_nc_f32, node.node().FloatOr("alpha", 1));
  if (op == "HardSwish") return add(xnn_create_hardswish_nc_f32, xnn_setup_hardswish_nc_f32);
  if (op == "LeakyRelu")
    return add(xnn_create_leaky_relu_nc_f32, xnn_setup_leaky_relu_nc_f32,
               node.node().FloatOr("alpha", 0.01F));
  if (op == "Neg") return add(xnn_create_negate_nc_f32, xnn_setup_negate_nc_f32);
  if (node.bounds().any()) {  // Relu and Clip
    return add(xnn_create_clamp_nc_f32, xnn_setup_clamp_nc_f32, node.bounds().low,
               node.bounds().high);
  }
  if (op == "Sigmoid") return add(xnn_create_sigmoid_nc_f32, xnn_setup_sigmoid_nc_f32);
  if (op == "Sqrt") return add(xnn_create_square_root_nc_f32, xnn_setup_square_root_nc_f32);
  return node.Unsupported("no such operator here");
}

// Tables of XNNPACK's own, for the one output type that each has.
template <typename Kind>
Result<void> FunctionOfBytes(const Reader& node, Net& net, const Value& x, const Value& y, Data in,
                             Data out) {
  using T = typename Kind::T;
  const auto add = [&](auto create, auto setup, auto... arguments) {
    return AddUnary(net, Place(node), CountOf(x), in, out, create, setup, 1, arguments...,
                    static_cast<T>(y.range().min), static_cast<T>(y.range().max));
  };
  if (node.bounds().any()) {
    const auto range = StoredBounds(y, node.bounds());
    return AddUnary(net, Place(node), CountOf(x), in, out, Kind::kCreateClamp, Kind::kSetupClamp, 1,
                    static_cast<T>(range.min), static_cast<T>(range.max));
  }
  const auto x_offset = static_cast<T>(x.offset()), y_offset = static_cast<T>(y.offset());
  if (node.op() == "Tanh") {
    return add(Kind::kCreateTanh, Kind::kSetupTanh, x_offset, x.scale(), y_offset, y.scale());
  }
  return add(Kind::kCreateSigmoid, Kind::kSetupSigmoid, x_offset, x.scale(), y_offset, y.scale());
}

bool HasTable(const Reader& node, const Value& x, const Value& y) {
  if (!x.is_byte() || x.type() != y.type() || !x.per_tensor() || !y.per_tensor()) return false;
  if (node.bounds().any()) return SameType(x, y);
  const std::int32_t low = format::StorageRange(y.type()).min == 0 ? 0 : -128;
  if (node.op() == "Tanh") return y.scale() == 0x1p-7F && y.offset() == low + 128;
  return node.op() == "Sigmoid" && y.scale() == 0x1p-8F && y.offset() == low;
}

Result<void> AddFunction(const Reader& node, Net& net) {
  QTX_RETURN_IF_ERROR(node.Understands({"alpha", "max", "min"}));
  QTX_ASSIGN_OR_RETURN(const Value* x, node.Input(0));
  QTX_ASSIGN_OR_RETURN(const Value* y, node.Output(x->dims()));
  if (HasTable(node, *x, *y)) {
    QTX_ASSIGN_OR_RETURN(const Data in, net.Of(*x));
    const Data out = net.New(*y, in.layout);
    net.Set(*y, out);
    return ForBytes(
        *x, [&]<typename Kind>(Kind) { return FunctionOfBytes<Kind>(node, net, *x, *y, in, out); });
  }
  QTX_ASSIGN_OR_RETURN(const Data given, net.Of(*x));
  QTX_ASSIGN_OR_RETURN(const Data in, net.Reals(*x, given.layout));
  const Data out = net.NewReals(*y, in.layout);
  QTX_RETURN_IF_ERROR(FunctionOfReals(node, net, CountOf(*x), in, out));
  return net.SetReals(*y, out);
}

Result<void> AddSoftmax(const Reader& node, Net& net) {
  QTX_RETURN_IF_ERROR(node.Understands({"axis"}));
  QTX_ASSIGN_OR_RETURN(const Value* x, node.Input(0));
  QTX_ASSIGN_OR_RETURN(const Value* y, node.Output(x->dims()));
  const bool old = node.opset() > 0 && node.opset() < 13;
  std::int64_t axis = node.node().IntOr("axis", old ? 1 : -1);
  if (axis < 0) axis += x->rank();
  if (x->rank() < 1 || axis != x->rank() - 1) return node.Unsupported("an axis but the last");
  const std::size_t rows = CountOf(*x) / static_cast<std::size_t>(x->dims().back());
  if (x->type() == ElementType::kUint8Q && y->type() == x->type() && x->per_tensor() &&
      y->per_tensor() && y->scale() == 0x1p-8F && y->offset() == 0) {
    QTX_ASSIGN_OR_RETURN(const Data in, net.Of(*x, Layout::kPlain));
    const Data out = net.New(*y, Layout::kPlain);
    net.Set(*y, out);
    return AddUnary(net, Place(node), CountOf(*x), in, out, xnn_create_softmax_nc_qu8,
                    xnn_setup_softmax_nc_qu8, rows, x->scale(), std::uint8_t{0}, y->scale());
  }
  QTX_ASSIGN_OR_RETURN(const Data in, net.Reals(*x, Layout::kPlain));
  const Data out = net.NewReals(*y, Layout::kPlain);
  QTX_RETURN_IF_ERROR(AddUnary(net, Place(node), CountOf(*x), in, out, xnn_create_softmax_nc_f32,
                               xnn_setup_softmax_nc_f32, rows));
  return net.SetReals(*y, out);
}

Result<void> AddConcat(const Reader& node, Net& net) {
  QTX_RETURN_IF_ERROR(node.Understands({"axis"}));
  QTX_ASSIGN_OR_RETURN(const Value* first, node.Input(0));
  auto axis = format::NormalizeAxis(node.node().IntOr("axis", 0), first->rank());
  if (!axis.has_value()) return node.Invalid(axis.error().message);
  const auto at = static_cast<std::size_t>(*axis);
  format::Dims dims = first->dims();
  dims[at] = 0;
  for (std::size_t i = 0; i < node.input_count(); ++i) {
    QTX_ASSIGN_OR_RETURN(const Value* value, node.Input(i));
    if (value->rank() != first->rank()) return node.Invalid("ranks differ");
    dims[at] += value->dims()[at];
  }
  QTX_ASSIGN_OR_RETURN(const Value* y, node.Output(dims));
  const auto rows =
      std::accumulate(dims.begin(), dims.begin() + *axis, std::size_t{1},
                      [](std::size_t n, auto d) { return n * static_cast<std::size_t>(d); });
  const std::size_t width = CountOf(*y) / rows * WidthOf(*y);
  const Data out = net.New(*y, Layout::kPlain);
  net.Set(*y, out);
  std::size_t done = 0;
  for (std::size_t i = 0; i < node.input_count(); ++i) {
    QTX_ASSIGN_OR_RETURN(const Value* value, node.Input(i));
    if (!SameType(*value, *y)) return node.Unsupported("another type of the result");
    QTX_ASSIGN_OR_RETURN(const Data in, net.Of(*value, Layout::kPlain));
    const std::size_t part = CountOf(*value) / rows * WidthOf(*value);
    xnn_operator_t op = nullptr;
    QTX_RETURN_IF_ERROR(Check(xnn_create_copy_nc_x8(part, part, width, 0, &op), Place(node)));
    Operator owned = Own(op);
    QTX_RETURN_IF_ERROR(
        Check(xnn_setup_copy_nc_x8(op, rows, in.bytes, out.bytes + done, net.pool()), Place(node)));
    net.Add(std::move(owned));
    done += part;
  }
  return {};
}

// Moved elements keep their type: XNNPACK of this date has no requantization of its own.
Result<void> AddReshape(const Reader& node, Net& net, const format::Dims& dims) {
  QTX_ASSIGN_OR_RETURN(const Value* x, node.Input(0));
  QTX_ASSIGN_OR_RETURN(const Value* y, node.Output(dims));
  if (!SameType(*x, *y)) {
    QTX_ASSIGN_OR_RETURN(const Data reals, net.Reals(*x, Layout::kPlain));
    return net.SetReals(*y, reals);
  }
  QTX_ASSIGN_OR_RETURN(const Data data, net.Of(*x, Layout::kPlain));
  net.Set(*y, data);
  return {};
}

// Between the two layouts a Transpose is only another way to look at the elements.
Result<void> AddTranspose(const Reader& node, Net& net) {
  QTX_ASSIGN_OR_RETURN(const Value* x, node.Input(0));
  QTX_ASSIGN_OR_RETURN(const auto perm, PermutationOf(node, x->rank()));
  format::Dims dims;
  for (const std::int64_t axis : perm) dims.push_back(x->dims()[static_cast<std::size_t>(axis)]);
  QTX_ASSIGN_OR_RETURN(const Value* y, node.Output(dims));
  if (!SameType(*x, *y)) return node.Unsupported("another type of the result");
  QTX_ASSIGN_OR_RETURN(const Data data, net.Of(*x));
  using Axes = std::vector<std::int64_t>;
  if (data.layout == Layout::kPlain && perm == Axes{0, 3, 1, 2}) {
    net.Set(*y, {data.bytes, Layout::kChannelsLast});
    return {};
  }
  if (data.layout == Layout::kChannelsLast && perm == Axes{0, 2, 3, 1}) {
    net.Set(*y, {data.bytes, Layout::kPlain});
    return {};
  }
  QTX_ASSIGN_OR_RETURN(const Data plain, net.Of(*x, Layout::kPlain));
  const Data out = net.New(*y, Layout::kPlain);
  net.Set(*y, out);
  net.Add([=, in = x->dims(), width = WidthOf(*x)] {
    Permute(plain.bytes, in, perm, width, out.bytes);
    return xnn_status_success;
  });
  return {};
}

}  // namespace

Result<void> AddNode(const Reader& node, Net& net) {
  using Adder = Result<void> (*)(const Reader&, Net&);
  static const std::map<std::string, Adder> kOps = {
      {"Abs", AddFunction},       {"Add", AddBinary},
      {"AveragePool", AddPool},   {"Clip", AddFunction},
      {"Concat", AddConcat},      {"Conv", AddConv},
      {"Div", AddBinary},         {"Elu", AddFunction},
      {"Gemm", AddGemm},          {"GlobalAveragePool", AddPool},
      {"GlobalMaxPool", AddPool}, {"HardSwish", AddFunction},
      {"LeakyRelu", AddFunction}, {"MatMul", AddMatMul},
      {"Max", AddBinary},         {"MaxPool", AddPool},
      {"Min", AddBinary},         {"Mul", AddBinary},
      {"Neg", AddFunction},       {"Relu", AddFunction},
      {"Sigmoid", AddFunction},   {"Softmax", AddSoftmax},
      {"Sqrt", AddFunction},      {"Sub", AddBinary},
      {"Tanh", AddFunction},      {"Transpose", AddTranspose}};
  if (const auto found = kOps.find(node.op()); found != kOps.end()) return found->second(node, net);
  QTX_ASSIGN_OR_RETURN(const auto dims, ReshapedDims(node));
  if (!dims) return node.Unsupported("no such operator here");
  return AddReshape(node, net, *dims);
}

}  // namespace qtx::backend::xnnpack
