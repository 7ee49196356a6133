// Everything but products and pools as XNNPACK operators.
#include <algorithm>
#include <numeric>

#include "kinds.h"
#include "peer/move.h"
#include "qtx/backend/axis.h"

namespace qtx::backend::xnnpack {
namespace {

using format::ElementType;
using peer::Reader;
using peer::Value;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

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
  QTX_RETURN_IF_ERROR(node.HasOneOutput());
  if (node.input_count() != 2) return node.Unsupported("other than two inputs");
  QTX_ASSIGN_OR_RETURN(const Value* a, node.Input(0));
  QTX_ASSIGN_OR_RETURN(const Value* b, node.Input(1));
  QTX_ASSIGN_OR_RETURN(const format::Dims dims, node.InferredDims());
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

Result<void> FunctionOfReals(const Reader& node, Net& net, std::size_t n, Data x, Data y) {
  const std::string at = Place(node);
  const std::string& op = node.op();
  const auto add = [&](auto create, auto setup, auto... arguments) {
    return AddUnary(net, at, n, x, y, create, setup, 1, arguments...);
  };
  if (op == "Abs") return add(xnn_create_abs_nc_f32, xnn_setup_abs_nc_f32);
  if (op == "Elu") return add(xnn_create_elu_nc_f32, xnn_setup_elu_nc_f32, node.Float("alpha"));
  if (op == "HardSwish") return add(xnn_create_hardswish_nc_f32, xnn_setup_hardswish_nc_f32);
  if (op == "LeakyRelu")
    return add(xnn_create_leaky_relu_nc_f32, xnn_setup_leaky_relu_nc_f32, node.Float("alpha"));
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
  QTX_RETURN_IF_ERROR(node.HasOneOutput());
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
  QTX_RETURN_IF_ERROR(node.HasOneOutput());
  QTX_ASSIGN_OR_RETURN(const Value* x, node.Input(0));
  QTX_ASSIGN_OR_RETURN(const Value* y, node.Output(x->dims()));
  if (AxisOf(node.Int("axis"), x->dims().size()) + 1 != x->dims().size()) {
    return node.Unsupported("an axis but the last");
  }
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
  QTX_RETURN_IF_ERROR(node.HasOneOutput());
  QTX_ASSIGN_OR_RETURN(const Value* first, node.Input(0));
  const std::size_t axis = AxisOf(node.Int("axis"), first->dims().size());
  QTX_ASSIGN_OR_RETURN(const format::Dims dims, node.InferredDims());
  QTX_ASSIGN_OR_RETURN(const Value* y, node.Output(dims));
  const auto rows = std::accumulate(
      dims.begin(), dims.begin() + static_cast<std::ptrdiff_t>(axis), std::size_t{1},
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

// A Transpose between the two layouts moves no element.
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
