// Conv, Gemm and MatMul as oneDNN primitives.
#include <algorithm>
#include <numeric>

#include "net.h"
#include "peer/linear.h"
#include "peer/move.h"
#include "peer/window.h"

namespace qtx::backend::onednn {
namespace {

using dnnl::algorithm;
using dnnl::prop_kind;
using peer::Bounds;
using peer::Linear;
using peer::Reader;
using peer::Value;
using peer::Window;
using Type = memory::data_type;

// The offset is added after the post-ops, and the storage saturates by itself.
void AppendRange(const Value& y, const Bounds& bounds, dnnl::post_ops& ops) {
  const auto range = StoredBounds(y, bounds);
  if (range == format::StorageRange(y.type())) return;
  ops.append_eltwise(1, algorithm::eltwise_clip, static_cast<float>(range.min - y.offset()),
                     static_cast<float>(range.max - y.offset()));
}

// The operands and attributes of Conv, Gemm and MatMul.
struct Product {
  dnnl::primitive_attr attr;
  std::optional<Data> bias;
  Type x = Type::f32, w = Type::f32, y = Type::f32;
};

struct Operands {
  const Value* x = nullptr;
  const Value* w = nullptr;
  const Value* b = nullptr;  // may be absent
  const Value* y = nullptr;
  std::int64_t channel_axis = 0;  // of w
  memory::dims bias_dims;
};

// Without VNNI a matrix of INT8Q with an offset takes a path 20 times slower: the offset times the
// sums of the weights joins the bias there. (Elsewhere not: the bias is added in binary32.)
bool FoldOffset(const Value& x, const Value& w, std::int64_t axis, Linear& linear) {
  const bool can = Saturates() && x.type() == format::ElementType::kInt8Q && w.constant &&
                   linear.weight_offset == 0 && linear.real_bias.empty() && w.rank() == 2;
  if (!can) return false;
  const auto columns = static_cast<std::size_t>(w.dims()[1]);
  std::vector<std::int64_t> sums(
      static_cast<std::size_t>(w.dims()[static_cast<std::size_t>(axis)]));
  const std::vector<std::int32_t> stored = format::UnpackInt32(w.tensor);
  for (std::size_t i = 0; i < stored.size(); ++i) {
    sums[axis == 0 ? i / columns : i % columns] += stored[i];
  }
  linear.bias.resize(sums.size());
  for (std::size_t i = 0; i < sums.size(); ++i) {
    sums[i] = linear.bias[i] - x.offset() * sums[i];
    if (sums[i] != static_cast<std::int32_t>(sums[i])) return false;
  }
  std::ranges::transform(sums, linear.bias.begin(),
                         [](std::int64_t v) { return static_cast<std::int32_t>(v); });
  return true;
}

Result<Product> RealProduct(const Reader& node, Net& net, const Operands& o) {
  Product product;
  dnnl::post_ops ops;
  AppendBounds(node.bounds(), ops);
  product.attr.set_post_ops(ops);
  if (o.b == nullptr) return product;
  QTX_ASSIGN_OR_RETURN(const Data reals, net.Reals(*o.b));
  product.bias = net.Reshaped(reals, o.bias_dims);
  return product;
}

dnnl::post_ops PostOpsOf(const Reader& node, const Value& y) {
  dnnl::post_ops ops;
  if (y.is_float()) {
    AppendBounds(node.bounds(), ops);
  } else {
    AppendRange(y, node.bounds(), ops);
  }
  return ops;
}

Result<Product> ProductOf(const Reader& node, Net& net, const Operands& o) {
  const std::int64_t count =
      std::accumulate(o.bias_dims.begin(), o.bias_dims.end(), std::int64_t{1}, std::multiplies<>());
  if (o.b != nullptr && format::ElementCount(o.b->tensor) != count) {
    return node.Unsupported("a bias that is broadcast");
  }
  const Value &x = *o.x, &w = *o.w, &y = *o.y;
  if (x.is_float() && w.is_float() && y.is_float()) return RealProduct(node, net, o);
  QTX_ASSIGN_OR_RETURN(Linear linear, LinearOf(node, x, w, o.b, y, o.channel_axis));
  Product product;
  product.x = *TypeOf(x.type());
  product.w = *TypeOf(w.type());
  product.y = *TypeOf(y.type());
  const bool is_matrix = o.bias_dims.size() > 1;
  if (is_matrix && product.w == Type::u8 && w.constant) {  // as WeightsOf has them
    product.w = Type::s8;
    linear.weight_offset -= 128;
  }
  // Channels are the last dimension of a matrix, and that after the batch of an image.
  const int channels = is_matrix ? 1 << (o.bias_dims.size() - 1) : 2;
  product.attr.set_output_scales(linear.scales.size() == 1 ? 0 : channels, linear.scales);
  if (x.offset() != 0 && !(is_matrix && FoldOffset(x, w, o.channel_axis, linear))) {
    product.attr.set_zero_points(DNNL_ARG_SRC, 0, {x.offset()});
  }
  if (linear.weight_offset != 0) {
    product.attr.set_zero_points(DNNL_ARG_WEIGHTS, 0, {linear.weight_offset});
  }
  if (!y.is_float() && y.offset() != 0) {
    product.attr.set_zero_points(DNNL_ARG_DST, 0, {y.offset()});
  }
  product.attr.set_post_ops(PostOpsOf(node, y));
  if (!linear.real_bias.empty()) {
    product.bias = net.NewConstant(Plain(o.bias_dims, Type::f32), linear.real_bias.data());
  } else if (!linear.bias.empty()) {
    product.bias = net.NewConstant(Plain(o.bias_dims, Type::s32), linear.bias.data());
  }
  return product;
}

// oneDNN has signed weights only. Unsigned constants are the same reals 128 lower.
Result<Data> WeightsOf(Net& net, const Value& w) {
  if (w.type() != format::ElementType::kUint8Q || !w.constant) return net.Of(w);
  std::vector<std::byte> lower = w.tensor.bytes;
  for (std::byte& b : lower) b ^= std::byte{0x80};
  return net.NewConstant(Plain(w.dims(), Type::s8), lower.data());
}

// a by b, of equal rank, as descriptors say; the result row-major.
Result<void> AddProduct(Net& net, const Value& y, const Product& product, const Data& a,
                        const Data& b, const memory::dims& dims) {
  const memory::desc weights = b.constant ? Any(b.desc().dims(), product.w) : b.desc();
  const memory::desc bias = product.bias ? product.bias->desc() : memory::desc();
  const memory::desc to = Plain(dims, product.y);
  const dnnl::matmul::desc desc = product.bias ? dnnl::matmul::desc(a.desc(), weights, bias, to)
                                               : dnnl::matmul::desc(a.desc(), weights, to);
  const dnnl::matmul::primitive_desc pd(desc, product.attr, net.engine());
  const Data result = net.New(to);
  Arguments arguments = {{DNNL_ARG_SRC, a.mem},
                         {DNNL_ARG_WEIGHTS, net.In(b, pd.weights_desc()).mem},
                         {DNNL_ARG_DST, result.mem}};
  if (product.bias) arguments[DNNL_ARG_BIAS] = product.bias->mem;
  net.Add(dnnl::matmul(pd), std::move(arguments), false);
  net.Set(y, dims == y.dims() ? result : net.Reshaped(result, y.dims()));
  return {};
}

Data Transposed(Net& net, const Data& data, bool transpose) {
  Data plain = net.Reshaped(data, data.desc().dims());
  if (!transpose) return plain;
  return {memory(plain.desc().permute_axes({1, 0}), net.engine(), plain.mem.get_data_handle()),
          plain.constant};
}

}  // namespace

Result<void> AddConv(const Reader& node, Net& net) {
  QTX_RETURN_IF_ERROR(node.HasOneOutput());
  QTX_ASSIGN_OR_RETURN(const Value* x, node.Input(0));
  QTX_ASSIGN_OR_RETURN(const Value* w, node.Input(1));
  if (x->rank() > 5) return node.Unsupported("more than three spatial axes");
  const std::int64_t group = node.Int("group");
  const std::int64_t m = w->dims()[0];
  const Value* b = nullptr;
  if (node.Has(2)) {
    QTX_ASSIGN_OR_RETURN(b, node.Input(2));
  }
  QTX_ASSIGN_OR_RETURN(const Window window, WindowOf(node, std::span(x->dims()).subspan(2),
                                                     {w->dims().begin() + 2, w->dims().end()}));
  const memory::dims dims = With(x->dims()[0], m, window.out);
  QTX_ASSIGN_OR_RETURN(const Value* y, node.Output(dims));
  QTX_ASSIGN_OR_RETURN(const Product product, ProductOf(node, net, {x, w, b, y, 0, {m}}));
  if (!x->is_float() && (w->type() != format::ElementType::kInt8Q || w->offset() != 0)) {
    return node.Unsupported("weights other than INT8Q with offset 0");
  }
  QTX_ASSIGN_OR_RETURN(const Data input, net.Of(*x));
  QTX_ASSIGN_OR_RETURN(Data weights, net.Of(*w));
  if (group > 1) {
    memory::dims grouped = w->dims();
    grouped[0] = m / group;
    grouped.insert(grouped.begin(), group);
    weights = net.Reshaped(weights, grouped);
  }
  const memory::desc bias = product.bias ? product.bias->desc() : memory::desc();
  const dnnl::convolution_forward::desc desc(
      prop_kind::forward_inference, algorithm::convolution_direct, Any(x->dims(), product.x),
      Any(weights.desc().dims(), product.w), bias, Any(dims, product.y), window.strides,
      LessOne(window.dilations), window.pads_begin, window.pads_end);
  const dnnl::convolution_forward::primitive_desc pd(desc, product.attr, net.engine());
  const Data result = net.New(pd.dst_desc());
  Arguments arguments = {{DNNL_ARG_SRC, net.In(input, pd.src_desc()).mem},
                         {DNNL_ARG_WEIGHTS, net.In(weights, pd.weights_desc()).mem},
                         {DNNL_ARG_DST, result.mem}};
  if (product.bias) arguments[DNNL_ARG_BIAS] = product.bias->mem;
  net.Add(dnnl::convolution_forward(pd), std::move(arguments), false);
  net.Set(*y, result);
  return {};
}

Result<void> AddMatMul(const Reader& node, Net& net) {
  QTX_RETURN_IF_ERROR(node.HasOneOutput());
  QTX_ASSIGN_OR_RETURN(const Value* a, node.Input(0));
  QTX_ASSIGN_OR_RETURN(const Value* b, node.Input(1));
  memory::dims left = a->dims(), right = b->dims();
  if (a->rank() == 1) left.insert(left.begin(), 1);
  if (b->rank() == 1) right.push_back(1);
  const std::size_t rank = std::max(left.size(), right.size());
  left = peer::Promoted(left, rank);
  right = peer::Promoted(right, rank);
  memory::dims dims =
      peer::Broadcast({left.begin(), left.end() - 2}, {right.begin(), right.end() - 2});
  dims.push_back(left[rank - 2]);
  dims.push_back(right[rank - 1]);
  QTX_ASSIGN_OR_RETURN(format::Dims declared, node.InferredDims());
  QTX_ASSIGN_OR_RETURN(const Value* y, node.Output(std::move(declared)));
  memory::dims channels(rank, 1);
  channels.back() = dims.back();
  QTX_ASSIGN_OR_RETURN(const Product product,
                       ProductOf(node, net, {a, b, nullptr, y, b->rank() - 1, channels}));
  QTX_ASSIGN_OR_RETURN(const Data x, net.Of(*a));
  QTX_ASSIGN_OR_RETURN(const Data w, WeightsOf(net, *b));
  return AddProduct(net, *y, product, net.Reshaped(x, left), net.Reshaped(w, right), dims);
}

Result<void> AddGemm(const Reader& node, Net& net) {
  QTX_RETURN_IF_ERROR(node.HasOneOutput());
  QTX_ASSIGN_OR_RETURN(const Value* a, node.Input(0));
  QTX_ASSIGN_OR_RETURN(const Value* b, node.Input(1));
  const Value* c = nullptr;
  if (node.Has(2)) {
    QTX_ASSIGN_OR_RETURN(c, node.Input(2));
  }
  if (node.Float("alpha") != 1 || node.Float("beta") != 1) {
    return node.Unsupported("alpha or beta other than 1");
  }
  const bool trans_b = node.Int("transB") != 0;
  QTX_ASSIGN_OR_RETURN(const Data x, net.Of(*a));
  QTX_ASSIGN_OR_RETURN(const Data w, WeightsOf(net, *b));
  const Data left = Transposed(net, x, node.Int("transA") != 0);
  const Data right = Transposed(net, w, trans_b);
  const memory::dims dims = {left.desc().dims()[0], right.desc().dims()[1]};
  QTX_ASSIGN_OR_RETURN(const Value* y, node.Output(dims));
  QTX_ASSIGN_OR_RETURN(const Product product,
                       ProductOf(node, net, {a, b, c, y, trans_b ? 0 : 1, {1, dims[1]}}));
  return AddProduct(net, *y, product, left, right, dims);
}

}  // namespace qtx::backend::onednn
