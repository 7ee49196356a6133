// Nodes as oneDNN primitives, all but the products.
#include <algorithm>
#include <cmath>

#include "net.h"
#include "peer/move.h"
#include "peer/window.h"
#include "qtx/backend/axis.h"

namespace qtx::backend::onednn {
namespace {

using dnnl::algorithm;
using dnnl::prop_kind;
using peer::Reader;
using peer::Value;
using peer::Window;
using Type = memory::data_type;

Result<void> AddPool(const Reader& node, Net& net) {
  QTX_RETURN_IF_ERROR(node.HasOneOutput());
  QTX_ASSIGN_OR_RETURN(const Value* x, node.Input(0));
  if (x->rank() < 3 || x->rank() > 5) return node.Unsupported("other than 1 to 3 spatial axes");
  const memory::dims in(x->dims().begin() + 2, x->dims().end());
  const bool global = node.op().starts_with("Global");
  QTX_ASSIGN_OR_RETURN(const Window window,
                       WindowOf(node, in, global ? in : std::vector<std::int64_t>()));
  QTX_ASSIGN_OR_RETURN(const Value* y, node.Output(With(x->dims()[0], x->dims()[1], window.out)));
  algorithm how = algorithm::pooling_max;
  const bool average = node.op().find("Average") != std::string::npos;
  const bool include = average && !global && node.Int("count_include_pad") != 0;
  if (include && window.cut) return node.Unsupported("ceil_mode with count_include_pad");
  if (average) {
    how = include ? algorithm::pooling_avg_include_padding : algorithm::pooling_avg_exclude_padding;
  }
  // For bytes, oneDNN takes padding as stored 0, regardless of the offset.
  const bool direct =
      SameType(*x, *y) && (x->is_float() || (x->is_byte() && !(include && window.padded())));
  QTX_ASSIGN_OR_RETURN(const Data input, direct ? net.Of(*x) : net.Reals(*x));
  const Type type = input.desc().data_type();
  const dnnl::pooling_v2_forward::desc desc(
      prop_kind::forward_inference, how, input.desc(), Any(y->dims(), type), window.strides,
      window.kernel, LessOne(window.dilations), window.pads_begin, window.pads_end);
  const dnnl::pooling_v2_forward::primitive_desc pd(desc, net.engine());
  const Data result = net.New(pd.dst_desc());
  net.Add(dnnl::pooling_v2_forward(pd), {{DNNL_ARG_SRC, input.mem}, {DNNL_ARG_DST, result.mem}},
          false);
  if (!direct) return net.SetReals(*y, result);
  net.Set(*y, result);
  return {};
}

std::optional<algorithm> BinaryOf(const std::string& op) {
  static const std::map<std::string, algorithm> kOps = {
      {"Add", algorithm::binary_add}, {"Sub", algorithm::binary_sub},
      {"Mul", algorithm::binary_mul}, {"Div", algorithm::binary_div},
      {"Max", algorithm::binary_max}, {"Min", algorithm::binary_min}};
  const auto found = kOps.find(op);
  return found == kOps.end() ? std::nullopt : std::optional(found->second);
}

bool IsSum(const Reader& node) { return node.op() == "Add" || node.op() == "Sub"; }

// Bytes are added with factors and one constant that holds all three offsets.
Result<dnnl::primitive_attr> SumOfBytes(const Reader& node, const Value& a, const Value& b,
                                        const Value& y) {
  dnnl::primitive_attr attr;
  dnnl::post_ops ops;
  const float a_ratio = a.scale() / y.scale(), b_ratio = b.scale() / y.scale();
  const float sign = node.op() == "Sub" ? -1.0F : 1.0F;
  attr.set_scales(DNNL_ARG_SRC_0, 0, {a_ratio});
  attr.set_scales(DNNL_ARG_SRC_1, 0, {b_ratio});
  const float rest = static_cast<float>(y.offset()) - a_ratio * static_cast<float>(a.offset()) -
                     sign * b_ratio * static_cast<float>(b.offset());
  if (rest != 0) ops.append_eltwise(1, algorithm::eltwise_linear, 1, rest);
  const auto range = StoredBounds(y, node.bounds());
  if (range != format::StorageRange(y.type())) {
    ops.append_eltwise(1, algorithm::eltwise_clip, static_cast<float>(range.min),
                       static_cast<float>(range.max));
  }
  attr.set_post_ops(ops);
  return attr;
}

Result<void> AddBinary(const Reader& node, Net& net, algorithm how) {
  QTX_RETURN_IF_ERROR(node.HasOneOutput());
  if (node.input_count() != 2) return node.Unsupported("other than two inputs");
  QTX_ASSIGN_OR_RETURN(const Value* a, node.Input(0));
  QTX_ASSIGN_OR_RETURN(const Value* b, node.Input(1));
  QTX_ASSIGN_OR_RETURN(const memory::dims dims, node.InferredDims());
  const bool swaps = node.op() != "Sub" && node.op() != "Div";
  if (swaps && a->dims() != dims) std::swap(a, b);
  if (a->dims() != dims) return node.Unsupported("the first operand is broadcast");
  QTX_ASSIGN_OR_RETURN(const Value* y, node.Output(dims));
  const bool bytes = IsSum(node) && a->is_byte() && b->is_byte() && y->is_byte() &&
                     a->per_tensor() && b->per_tensor() && y->per_tensor();
  dnnl::primitive_attr attr;
  if (bytes) {
    QTX_ASSIGN_OR_RETURN(attr, SumOfBytes(node, *a, *b, *y));
  } else {
    dnnl::post_ops ops;
    AppendBounds(node.bounds(), ops);
    attr.set_post_ops(ops);
  }
  QTX_ASSIGN_OR_RETURN(const Data left, bytes ? net.Of(*a) : net.Reals(*a));
  QTX_ASSIGN_OR_RETURN(Data right, bytes ? net.Of(*b) : net.Reals(*b));
  if (b->dims() != dims) right = net.Reshaped(right, peer::Promoted(b->dims(), dims.size()));
  const Type type = bytes ? *TypeOf(y->type()) : Type::f32;
  memory::desc to = left.desc();
  to.data.data_type = memory::convert_to_c(type);
  const dnnl::binary::desc desc(how, left.desc(), right.desc(), to);
  const dnnl::binary::primitive_desc pd(desc, attr, net.engine());
  const Data result = net.New(pd.dst_desc());
  net.Add(dnnl::binary(pd),
          {{DNNL_ARG_SRC_0, left.mem}, {DNNL_ARG_SRC_1, right.mem}, {DNNL_ARG_DST, result.mem}},
          false);
  if (!bytes) return net.SetReals(*y, result);
  net.Set(*y, result);
  return {};
}

struct Function {
  algorithm how;
  float alpha = 0, beta = 0;
};

std::optional<Function> FunctionOf(const Reader& node) {
  static const std::map<std::string, Function> kOps = {
      {"Abs", {algorithm::eltwise_abs}},
      {"Exp", {algorithm::eltwise_exp}},
      {"HardSwish", {algorithm::eltwise_hardswish}},
      {"Log", {algorithm::eltwise_log}},
      {"Mish", {algorithm::eltwise_mish}},
      {"Neg", {algorithm::eltwise_linear, -1}},
      {"Reciprocal", {algorithm::eltwise_pow, 1, -1}},
      {"Relu", {algorithm::eltwise_relu}},
      {"Sigmoid", {algorithm::eltwise_logistic}},
      {"Softplus", {algorithm::eltwise_soft_relu}},
      {"Sqrt", {algorithm::eltwise_sqrt}},
      {"Tanh", {algorithm::eltwise_tanh}}};
  if (const auto found = kOps.find(node.op()); found != kOps.end()) return found->second;
  if (node.op() == "Clip" && node.bounds().any()) {
    return Function{algorithm::eltwise_clip, std::max(node.bounds().low, -kLargest),
                    std::min(node.bounds().high, kLargest)};
  }
  if (node.op() == "Elu") return Function{algorithm::eltwise_elu, node.Float("alpha")};
  if (node.op() == "LeakyRelu") return Function{algorithm::eltwise_relu, node.Float("alpha")};
  return std::nullopt;
}

Result<void> AddFunction(const Reader& node, Net& net, const Function& f) {
  QTX_RETURN_IF_ERROR(node.HasOneOutput());
  QTX_ASSIGN_OR_RETURN(const Value* x, node.Input(0));
  QTX_ASSIGN_OR_RETURN(const Value* y, node.Output(x->dims()));
  QTX_ASSIGN_OR_RETURN(const Data input, net.Reals(*x));
  const dnnl::eltwise_forward::desc desc(prop_kind::forward_inference, f.how, input.desc(), f.alpha,
                                         f.beta);
  const dnnl::eltwise_forward::primitive_desc pd(desc, net.engine());
  const Data result = net.New(pd.dst_desc());
  net.Add(dnnl::eltwise_forward(pd), {{DNNL_ARG_SRC, input.mem}, {DNNL_ARG_DST, result.mem}},
          false);
  return net.SetReals(*y, result);
}

Result<void> AddSoftmax(const Reader& node, Net& net) {
  QTX_RETURN_IF_ERROR(node.HasOneOutput());
  QTX_ASSIGN_OR_RETURN(const Value* x, node.Input(0));
  QTX_ASSIGN_OR_RETURN(const Value* y, node.Output(x->dims()));
  const auto axis = static_cast<std::int64_t>(AxisOf(node.Int("axis"), x->dims().size()));
  if (node.opset() < 13 && axis != x->rank() - 1) {  // a matrix of what follows the axis
    return node.Unsupported("opset below 13 with this axis");
  }
  QTX_ASSIGN_OR_RETURN(const Data input, net.Reals(*x));
  const dnnl::softmax_forward::desc desc(prop_kind::forward_inference, input.desc(),
                                         static_cast<int>(axis));
  const dnnl::softmax_forward::primitive_desc pd(desc, net.engine());
  const Data result = net.New(pd.dst_desc());
  net.Add(dnnl::softmax_forward(pd), {{DNNL_ARG_SRC, input.mem}, {DNNL_ARG_DST, result.mem}},
          false);
  return net.SetReals(*y, result);
}

Result<void> AddConcat(const Reader& node, Net& net) {
  QTX_RETURN_IF_ERROR(node.HasOneOutput());
  QTX_ASSIGN_OR_RETURN(const Value* first, node.Input(0));
  const std::size_t axis = AxisOf(node.Int("axis"), first->dims().size());
  QTX_ASSIGN_OR_RETURN(const format::Dims dims, node.InferredDims());
  std::vector<const Value*> values;
  for (std::size_t i = 0; i < node.input_count(); ++i) {
    QTX_ASSIGN_OR_RETURN(const Value* value, node.Input(i));
    values.push_back(value);
  }
  QTX_ASSIGN_OR_RETURN(const Value* y, node.Output(dims));
  const bool direct = std::ranges::all_of(values, [&](const Value* v) { return SameType(*v, *y); });
  std::vector<memory::desc> descs;
  Arguments arguments;
  for (const Value* value : values) {
    QTX_ASSIGN_OR_RETURN(const Data data, direct ? net.Of(*value) : net.Reals(*value));
    arguments[DNNL_ARG_MULTIPLE_SRC + static_cast<int>(descs.size())] = data.mem;
    descs.push_back(data.desc());
  }
  const dnnl::concat::primitive_desc pd(static_cast<int>(axis), descs, net.engine());
  const Data result = net.New(pd.dst_desc());
  arguments[DNNL_ARG_DST] = result.mem;
  net.Add(dnnl::concat(pd), std::move(arguments), false);
  if (!direct) return net.SetReals(*y, result);
  net.Set(*y, result);
  return {};
}

// Data movement: elements are copied between equal types, otherwise converted through their reals.
Result<void> AddMove(const Reader& node, Net& net, const format::Dims& dims,
                     const std::function<Data(const Data&)>& move) {
  QTX_ASSIGN_OR_RETURN(const Value* x, node.Input(0));
  QTX_ASSIGN_OR_RETURN(const Value* y, node.Output(dims));
  const bool direct = SameType(*x, *y);
  QTX_ASSIGN_OR_RETURN(const Data input, direct ? net.Of(*x) : net.Reals(*x));
  const Data moved = move(input);
  if (!direct) return net.SetReals(*y, moved);
  net.Set(*y, moved);
  return {};
}

Result<void> AddTranspose(const Reader& node, Net& net) {
  QTX_ASSIGN_OR_RETURN(const Value* x, node.Input(0));
  QTX_ASSIGN_OR_RETURN(const auto perm, PermutationOf(node, x->rank()));
  format::Dims dims;
  std::vector<int> to(perm.size());  // oneDNN says where each axis goes
  for (std::size_t i = 0; i < perm.size(); ++i) {
    dims.push_back(x->dims()[static_cast<std::size_t>(perm[i])]);
    to[static_cast<std::size_t>(perm[i])] = static_cast<int>(i);
  }
  return AddMove(node, net, dims, [&](const Data& data) {
    const Data plain = net.Reshaped(data, x->dims());
    return Data{memory(plain.desc().permute_axes(to), net.engine(), plain.mem.get_data_handle()),
                plain.constant};
  });
}

}  // namespace

Result<void> AddNode(const Reader& node, Net& net) {
  using Adder = Result<void> (*)(const Reader&, Net&);
  static const std::map<std::string, Adder> kOps = {
      {"AveragePool", AddPool},   {"Concat", AddConcat},          {"Conv", AddConv},
      {"Gemm", AddGemm},          {"GlobalAveragePool", AddPool}, {"GlobalMaxPool", AddPool},
      {"MatMul", AddMatMul},      {"MaxPool", AddPool},           {"Softmax", AddSoftmax},
      {"Transpose", AddTranspose}};
  if (const auto found = kOps.find(node.op()); found != kOps.end()) return found->second(node, net);
  if (const auto how = BinaryOf(node.op())) return AddBinary(node, net, *how);
  if (const auto f = FunctionOf(node)) return AddFunction(node, net, *f);
  QTX_ASSIGN_OR_RETURN(const auto dims, ReshapedDims(node));
  if (!dims) return node.Unsupported("no such operator here");
  return AddMove(node, net, *dims, [&](const Data& data) { return net.Reshaped(data, *dims); });
}

}  // namespace qtx::backend::onednn
