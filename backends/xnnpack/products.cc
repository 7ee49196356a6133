// Conv, Gemm and MatMul. All three are XNNPACK's convolution: a matrix is an image of one row,
// which its 1x1 kernels take as a matrix again, and which alone has a scale for each channel.
#include <algorithm>
#include <numeric>

#include "kinds.h"
#include "peer/linear.h"
#include "peer/window.h"

namespace qtx::backend::xnnpack {
namespace {

using format::ElementType;
using peer::Linear;
using peer::Reader;
using peer::Value;
using peer::Window;

struct Convolution {
  std::int64_t batch = 1, height = 1, width = 1, group = 1, group_in = 1, group_out = 1;
  Window window;  // two axes
  const Value* x = nullptr;
  const Value* w = nullptr;
  const Value* b = nullptr;
  const Value* y = nullptr;
  std::int64_t channel_axis = 0;   // of w
  std::vector<std::int64_t> perm;  // brings w's axes into the order outputs, kernel, inputs
  peer::Bounds bounds;
  Linear linear;            // of bytes
  std::vector<float> bias;  // of reals
  Data in, out;
};

// Calls one of the create functions, whose first fifteen arguments are the same.
template <typename Create, typename... Rest>
xnn_status Call(const Convolution& c, Create create, Rest... rest) {
  const Window& w = c.window;
  return create(U32(w.pads_begin[0]), U32(w.pads_end[1]), U32(w.pads_end[0]), U32(w.pads_begin[1]),
                U32(w.kernel[0]), U32(w.kernel[1]), U32(w.strides[0]), U32(w.strides[1]),
                U32(w.dilations[0]), U32(w.dilations[1]), U32(c.group),
                static_cast<std::size_t>(c.group_in), static_cast<std::size_t>(c.group_out),
                static_cast<std::size_t>(c.group * c.group_in),
                static_cast<std::size_t>(c.group * c.group_out), rest...);
}

xnn_status CreateSigned(const Convolution& c, const std::byte* weights, xnn_operator_t* op) {
  const auto range = StoredBounds(*c.y, c.bounds);
  const auto x_offset = static_cast<std::int8_t>(c.x->offset());
  const auto y_offset = static_cast<std::int8_t>(c.y->offset());
  const auto low = static_cast<std::int8_t>(range.min);
  const auto high = static_cast<std::int8_t>(range.max);
  const auto* kernel = reinterpret_cast<const std::int8_t*>(weights);
  const std::int32_t* bias = c.linear.bias.empty() ? nullptr : c.linear.bias.data();
  const std::vector<float>& scales = c.linear.weight_scales;
  if (scales.size() > 1) {
    return Call(c, xnn_create_convolution2d_nhwc_qc8, x_offset, c.x->scale(), scales.data(), kernel,
                bias, y_offset, c.y->scale(), low, high, 0U, op);
  }
  return Call(c, xnn_create_convolution2d_nhwc_qs8, x_offset, c.x->scale(), scales[0], kernel, bias,
              y_offset, c.y->scale(), low, high, 0U, op);
}

xnn_status CreateUnsigned(const Convolution& c, const std::byte* weights, xnn_operator_t* op) {
  const auto range = StoredBounds(*c.y, c.bounds);
  return Call(c, xnn_create_convolution2d_nhwc_qu8, static_cast<std::uint8_t>(c.x->offset()),
              c.x->scale(), static_cast<std::uint8_t>(c.linear.weight_offset),
              c.linear.weight_scales[0], reinterpret_cast<const std::uint8_t*>(weights),
              c.linear.bias.empty() ? nullptr : c.linear.bias.data(),
              static_cast<std::uint8_t>(c.y->offset()), c.y->scale(),
              static_cast<std::uint8_t>(range.min), static_cast<std::uint8_t>(range.max), 0U, op);
}

template <typename T>
xnn_status SetUp(const Convolution& c, xnn_operator_t op, pthreadpool_t pool,
                 xnn_status (*setup)(xnn_operator_t, std::size_t, std::size_t, std::size_t,
                                     const T*, T*, pthreadpool_t)) {
  return setup(op, static_cast<std::size_t>(c.batch), static_cast<std::size_t>(c.height),
               static_cast<std::size_t>(c.width), reinterpret_cast<const T*>(c.in.bytes),
               reinterpret_cast<T*>(c.out.bytes), pool);
}

xnn_status CreateFloat(const Convolution& c, const std::byte* weights, xnn_operator_t* op) {
  return Call(c, xnn_create_convolution2d_nhwc_f32, reinterpret_cast<const float*>(weights),
              c.bias.empty() ? nullptr : c.bias.data(), c.bounds.low, c.bounds.high, 0U, op);
}

// An operator that is ready to run.
xnn_status Make(const Convolution& c, const std::byte* weights, pthreadpool_t pool,
                xnn_operator_t* op) {
  const bool is_signed = c.x->type() == ElementType::kInt8Q;
  const auto create = c.x->is_float() ? CreateFloat : is_signed ? CreateSigned : CreateUnsigned;
  if (const auto status = create(c, weights, op); status != xnn_status_success) return status;
  if (c.x->is_float()) return SetUp<float>(c, *op, pool, xnn_setup_convolution2d_nhwc_f32);
  if (!is_signed) return SetUp<std::uint8_t>(c, *op, pool, xnn_setup_convolution2d_nhwc_qu8);
  return SetUp<std::int8_t>(c, *op, pool,
                            c.linear.weight_scales.size() > 1 ? xnn_setup_convolution2d_nhwc_qc8
                                                              : xnn_setup_convolution2d_nhwc_qs8);
}

Result<void> CheckBytes(const Reader& node, Convolution& c) {
  QTX_ASSIGN_OR_RETURN(c.linear, LinearOf(node, *c.x, *c.w, c.b, *c.y, c.channel_axis));
  const bool is_signed = c.x->type() == ElementType::kInt8Q;
  if (c.w->type() != c.x->type() || c.y->type() != c.x->type()) {
    return node.Unsupported("operands and result that are not all INT8Q or all UINT8Q");
  }
  if (is_signed && c.linear.weight_offset != 0) return node.Unsupported("signed weights' offset");
  if (!is_signed && c.linear.weight_scales.size() > 1) {
    return node.Unsupported("unsigned weights with several scales");
  }
  // Debian's build asserts it of one factor, and computes with any for each channel (xnnpack.C1).
  const std::vector<float>& scales = c.linear.weight_scales;
  if (scales.size() == 1 && c.x->scale() * scales[0] / c.y->scale() < 0x1p-32F) {
    return node.Unsupported("one factor below 2^-32, which the library asserts not to be");
  }
  return {};
}

Result<void> CheckTypes(const Reader& node, Convolution& c) {
  if (c.b != nullptr && format::ElementCount(c.b->tensor) != c.group * c.group_out) {
    return node.Unsupported("a bias that is broadcast");
  }
  if (!c.x->is_float() || !c.w->is_float() || !c.y->is_float()) return CheckBytes(node, c);
  if (c.b == nullptr) return {};
  if (!c.b->constant) return node.Unsupported("the bias is not constant");
  c.bias = c.b->Reals();
  return {};
}

// Weights that the model computes are packed in each run, because XNNPACK takes only packed
// weights.
void AddComputedWeights(Net& net, const Convolution& c, const std::byte* given) {
  const auto count = static_cast<std::size_t>(format::ElementCount(c.w->tensor));
  std::byte* packed = net.NewBuffer(count * WidthOf(*c.w));
  net.Add([=, pool = net.pool()]() -> xnn_status {
    Permute(given, c.w->dims(), c.perm, WidthOf(*c.w), packed);
    xnn_operator_t op = nullptr;
    const xnn_status made = Make(c, packed, pool, &op);
    const Operator kept = Own(op);
    return made == xnn_status_success ? xnn_run_operator(op, pool) : made;
  });
}

Result<void> Add(const Reader& node, Net& net, Convolution c) {
  QTX_RETURN_IF_ERROR(CheckTypes(node, c));
  const auto count = static_cast<std::size_t>(format::ElementCount(c.w->tensor));
  std::vector<std::byte> packed(count * WidthOf(*c.w));
  if (c.w->constant) {
    Permute(c.w->tensor.bytes.data(), c.w->dims(), c.perm, WidthOf(*c.w), packed.data());
  }
  xnn_operator_t op = nullptr;
  const xnn_status status = Make(c, packed.data(), net.pool(), &op);
  Operator owned = Own(op);
  QTX_RETURN_IF_ERROR(Check(status, Place(node)));  // now, for computed weights too
  if (c.w->constant) {
    net.Add(std::move(owned));
    return {};
  }
  QTX_ASSIGN_OR_RETURN(const Data given, net.Of(*c.w, Layout::kPlain));
  AddComputedWeights(net, c, given.bytes);
  return {};
}

// One spatial axis is a row.
void MakeTwoAxes(Window& w) {
  if (w.kernel.size() == 2) return;
  for (auto* one : {&w.kernel, &w.strides, &w.dilations, &w.out}) one->insert(one->begin(), 1);
  for (auto* none : {&w.pads_begin, &w.pads_end}) none->insert(none->begin(), 0);
}

Window Pointwise() { return {{1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, {1, 1}}; }

// x, of c.width rows of c.group_in values, by w, or by its transposition.
Result<void> AddMatrix(const Reader& node, Net& net, Convolution c, bool transposed) {
  c.window = Pointwise();
  c.bounds = node.bounds();
  QTX_ASSIGN_OR_RETURN(c.in, net.Of(*c.x, Layout::kPlain));
  c.out = net.New(*c.y, Layout::kPlain);
  net.Set(*c.y, c.out);
  c.perm.resize(static_cast<std::size_t>(c.w->rank()));
  std::iota(c.perm.begin(), c.perm.end(), 0);
  if (!transposed) std::ranges::reverse(c.perm);
  c.channel_axis = transposed ? 0 : c.w->rank() - 1;
  return Add(node, net, std::move(c));
}

}  // namespace

Result<void> AddConv(const Reader& node, Net& net) {
  QTX_RETURN_IF_ERROR(node.HasOneOutput());
  Convolution c;
  QTX_ASSIGN_OR_RETURN(c.x, node.Input(0));
  QTX_ASSIGN_OR_RETURN(c.w, node.Input(1));
  const format::Dims in = c.x->dims(), weights = c.w->dims();
  if (in.size() > 4) return node.Unsupported("more than two spatial axes");
  c.group = node.Int("group");
  if (node.Has(2)) {
    QTX_ASSIGN_OR_RETURN(c.b, node.Input(2));
  }
  QTX_ASSIGN_OR_RETURN(
      c.window, WindowOf(node, std::span(in).subspan(2), {weights.begin() + 2, weights.end()}));
  format::Dims out = {in[0], weights[0]};
  out.insert(out.end(), c.window.out.begin(), c.window.out.end());
  MakeTwoAxes(c.window);
  c.batch = in[0];
  c.height = in.size() == 3 ? 1 : in[2];
  c.width = in.back();
  c.group_in = weights[1];
  c.group_out = weights[0] / c.group;
  c.bounds = node.bounds();
  QTX_ASSIGN_OR_RETURN(c.y, node.Output(out));
  QTX_ASSIGN_OR_RETURN(c.in, net.Of(*c.x, Layout::kChannelsLast));
  c.out = net.New(*c.y, Layout::kChannelsLast);
  net.Set(*c.y, c.out);
  c.perm = {0, 2, 1};
  if (in.size() == 4) c.perm = {0, 2, 3, 1};
  return Add(node, net, std::move(c));
}

Result<void> AddGemm(const Reader& node, Net& net) {
  QTX_RETURN_IF_ERROR(node.HasOneOutput());
  Convolution c;
  QTX_ASSIGN_OR_RETURN(c.x, node.Input(0));
  QTX_ASSIGN_OR_RETURN(c.w, node.Input(1));
  if (node.Has(2)) {
    QTX_ASSIGN_OR_RETURN(c.b, node.Input(2));
  }
  if (node.Float("alpha") != 1 || node.Float("beta") != 1) {
    return node.Unsupported("alpha or beta other than 1");
  }
  if (node.Int("transA") != 0) return node.Unsupported("transA");
  const bool transposed = node.Int("transB") != 0;
  c.width = c.x->dims()[0];
  c.group_in = c.x->dims()[1];
  c.group_out = c.w->dims()[transposed ? 0 : 1];
  QTX_ASSIGN_OR_RETURN(c.y, node.Output({c.width, c.group_out}));
  return AddMatrix(node, net, std::move(c), transposed);
}

Result<void> AddMatMul(const Reader& node, Net& net) {
  QTX_RETURN_IF_ERROR(node.HasOneOutput());
  Convolution c;
  QTX_ASSIGN_OR_RETURN(c.x, node.Input(0));
  QTX_ASSIGN_OR_RETURN(c.w, node.Input(1));
  if (c.w->rank() > 2) return node.Unsupported("a batch of right operands");
  c.group_in = c.x->dims().back();
  c.group_out = c.w->rank() == 1 ? 1 : c.w->dims()[1];
  c.width = format::ElementCount(c.x->tensor) / c.group_in;
  format::Dims out(c.x->dims().begin(), c.x->dims().end() - 1);
  if (c.w->rank() == 2) out.push_back(c.group_out);
  QTX_ASSIGN_OR_RETURN(c.y, node.Output(out));
  return AddMatrix(node, net, std::move(c), false);
}

}  // namespace qtx::backend::xnnpack
