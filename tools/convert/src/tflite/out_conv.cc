// Conv, Gemm and MatMul: layers with weights.
#include <algorithm>

#include "errors.h"
#include "qtx/format/accumulator.h"
#include "qtx/format/attributes.h"
#include "tflite/rules.h"
#include "tflite/tensor_out.h"
#include "tflite/window_out.h"

namespace qtx::convert {
namespace {

using format::Dims;
using schema::BuiltinOperator;

template <typename Options>
Options ConvOptions(const OutWindow& window, schema::ActivationFunctionType activation) {
  Options options;
  options.padding = window.padding;
  options.stride_h = static_cast<std::int32_t>(window.strides[0]);
  options.stride_w = static_cast<std::int32_t>(window.strides[1]);
  options.dilation_h_factor = static_cast<std::int32_t>(window.dilations[0]);
  options.dilation_w_factor = static_cast<std::int32_t>(window.dilations[1]);
  options.fused_activation_function = activation;
  return options;
}

Layer LayerOf(const Job& job, std::int64_t w_axis, std::int64_t channels) {
  return {job.Input(0), job.Input(1), job.Input(2), job.output, w_axis, channels};
}

// A depthwise filter, channels last. LiteRT's kernel for FLOAT x reads a scale for each channel,
// also where the file has one for all.
Result<int> AddDepthwise(TfliteWriter& writer, const Layer& layer, Kernel kernel) {
  const Permutation perm = Inverse(DepthwiseToOihw());
  if (!writer.IsConstant(layer.w) || kernel != Kernel::kHybrid)
    return UseWeights(writer, layer, perm, kernel);
  QTX_ASSIGN_OR_RETURN(format::Tensor constant, writer.Constant(layer.w));
  if (constant.quantization->axis.empty()) {
    format::Quantization& q = *constant.quantization;
    q.scale.resize(static_cast<std::size_t>(layer.channels), q.scale[0]);
    q.offset.clear();  // 0, as KernelForLayer has seen
    q.axis = {layer.w_axis};
    writer.ledger().Changed(layer.w, "scale", "one for each channel, all equal");
  }
  return writer.AddConstant(layer.w, Permute(constant, perm));
}

// True if each group has one channel. A single group of one channel could be either kind, whose
// kernels round differently: the origin decides.
bool IsDepthwise(const format::Node& node, std::int64_t group, const Dims& x, const Dims& w) {
  if (group != x[1] || w[1] != 1) return false;
  return group > 1 || (node.origin && node.origin->op_type == "DEPTHWISE_CONV_2D");
}

struct Product {
  Dims x_dims, y_dims;
  bool keep_dims = false;
};

// x times a constant matrix of [outputs, inputs].
Result<void> WriteFullyConnected(TfliteWriter& writer, const Job& job, const Product& product,
                                 Layer layer, bool transposed) {
  layer.takes_blocks = true;
  QTX_ASSIGN_OR_RETURN(const Kernel kernel, KernelForLayer(writer, layer));
  schema::FullyConnectedOptionsT options;
  QTX_ASSIGN_OR_RETURN(options.fused_activation_function, ActivationFor(writer, job, kernel));
  options.keep_num_dims = product.keep_dims;
  QTX_ASSIGN_OR_RETURN(const int x, UseFor(writer, kernel, layer.x, Order::kOnnx));
  Call call{BuiltinOperator::FULLY_CONNECTED, {x}, {}};
  const Permutation perm = transposed ? Permutation{} : Permutation{1, 0};
  QTX_ASSIGN_OR_RETURN(const int w, UseWeights(writer, layer, perm, kernel));
  QTX_ASSIGN_OR_RETURN(const int bias, UseBias(writer, layer, kernel));
  call.inputs.push_back(w);
  if (bias >= 0) call.inputs.push_back(bias);
  call.options.Set(std::move(options));
  QTX_ASSIGN_OR_RETURN(const format::TensorType as, TypeFrom(writer, job, kernel));
  return writer.Emit(std::move(call), {job.output, Order::kOnnx, product.y_dims}, as);
}

Result<void> WriteGemm(TfliteWriter& writer, const Job& job) {
  const format::Node& node = job.node;
  if (format::IsScaledGemm(node)) return Unsupported("", "alpha and beta other than 1");
  if (format::Attributes(node).Int("transA") != 0) return Unsupported("", "transA");
  const bool transposed = format::Attributes(node).Int("transB") != 0;
  QTX_ASSIGN_OR_RETURN(const Dims x, writer.Dims(job.Input(0)));
  QTX_ASSIGN_OR_RETURN(const Dims w, writer.Dims(job.Input(1)));
  if (x.size() != 2 || w.size() != 2) return Unsupported("", "expected operands of rank 2");
  const std::size_t out = transposed ? 0 : 1;
  if (x[1] != w[1 - out]) return Unsupported("", "different inner sizes");
  const Product product{x, {x[0], w[out]}, false};
  const Layer layer = LayerOf(job, static_cast<std::int64_t>(out), w[out]);
  return WriteFullyConnected(writer, job, product, layer, transposed);
}

Result<Dims> BatchedDims(const Dims& a, const Dims& b) {
  if (a.size() < 2 || b.size() < 2 || a.back() != b[b.size() - 2]) {
    return Unsupported("", "shapes " + format::ToString(a) + " and " + format::ToString(b));
  }
  Dims y = a.size() >= b.size() ? a : b;
  const std::size_t rank = y.size();
  for (std::size_t i = 2; i < rank; ++i) {  // batches, from the last
    const std::int64_t p = i < a.size() ? a[a.size() - 1 - i] : 1;
    const std::int64_t q = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (p != q && p != 1 && q != 1) return Unsupported("", "batches that do not fit");
    y[rank - 1 - i] = std::max(p, q);
  }
  y[rank - 2] = a[a.size() - 2];
  y[rank - 1] = b.back();
  return y;
}

Result<void> WriteBatchMatMul(TfliteWriter& writer, const Job& job, const Dims& y) {
  const std::vector<std::string> values = {job.Input(0), job.Input(1), job.output};
  QTX_ASSIGN_OR_RETURN(const Kernel kernel, KernelFor(writer, values));
  Call call{BuiltinOperator::BATCH_MATMUL, {}, {}};
  for (const std::string& value : {values[0], values[1]}) {
    QTX_ASSIGN_OR_RETURN(const int index, kernel == Kernel::kReal
                                              ? writer.UseAs(value, Order::kOnnx, Float())
                                              : writer.Use(value, Order::kOnnx));
    call.inputs.push_back(index);
  }
  call.options.Set(schema::BatchMatMulOptionsT());
  QTX_ASSIGN_OR_RETURN(const format::TensorType type, writer.Type(job.output));
  return writer.Emit(std::move(call), {job.output, Order::kOnnx, y},
                     kernel == Kernel::kReal ? Float() : type);
}

}  // namespace

Result<void> WriteConv(TfliteWriter& writer, const Job& job) {
  const std::int64_t group = format::Attributes(job.node).Int("group");
  QTX_ASSIGN_OR_RETURN(const Dims x, writer.Dims(job.Input(0)));
  QTX_ASSIGN_OR_RETURN(const Dims w, writer.Dims(job.Input(1)));
  if (x.size() != 4 || w.size() != 4) return Unsupported("", "expected operands of rank 4");
  if (group < 1 || x[1] % group != 0 || w[1] != x[1] / group || w[0] % group != 0) {
    return Unsupported("", "weights " + format::ToString(w) + " for x " + format::ToString(x));
  }
  QTX_ASSIGN_OR_RETURN(const OutWindow window, OutWindowOf(job.node, x, {w[2], w[3]}));
  const Layer layer = LayerOf(job, 0, w[0]);
  QTX_ASSIGN_OR_RETURN(const Kernel kernel, KernelForLayer(writer, layer));
  QTX_ASSIGN_OR_RETURN(const auto activation, ActivationFor(writer, job, kernel));
  QTX_ASSIGN_OR_RETURN(int input, UseFor(writer, kernel, layer.x, Order::kNhwc));
  if (window.explicit_pads) {
    QTX_ASSIGN_OR_RETURN(format::TensorType type, writer.Type(layer.x));
    if (kernel == Kernel::kReal) type = Float();
    QTX_ASSIGN_OR_RETURN(input, PadAround(writer, {layer.x, input, type}, x, window));
  }
  const bool depthwise = IsDepthwise(job.node, group, x, w);
  Call call{depthwise ? BuiltinOperator::DEPTHWISE_CONV_2D : BuiltinOperator::CONV_2D, {input}, {}};
  // [O,1,H,W] to [1,H,W,O], or [O,I,H,W] to [O,H,W,I].
  QTX_ASSIGN_OR_RETURN(const int weights, depthwise
                                              ? AddDepthwise(writer, layer, kernel)
                                              : UseWeights(writer, layer, NchwToNhwc(), kernel));
  QTX_ASSIGN_OR_RETURN(const int bias, UseBiasOrZeros(writer, layer, kernel));
  call.inputs.insert(call.inputs.end(), {weights, bias});
  if (depthwise) {
    auto options = ConvOptions<schema::DepthwiseConv2DOptionsT>(window, activation);
    options.depth_multiplier = static_cast<std::int32_t>(w[0] / group);
    call.options.Set(std::move(options));
  } else {
    call.options.Set(ConvOptions<schema::Conv2DOptionsT>(window, activation));
  }
  QTX_ASSIGN_OR_RETURN(const format::TensorType as, TypeFrom(writer, job, kernel));
  const Dims dims = {x[0], w[0], window.output[0], window.output[1]};
  return writer.Emit(std::move(call), {job.output, Order::kNhwc, dims}, as);
}

Result<void> WriteMatMul(TfliteWriter& writer, const Job& job) {
  if (job.node.op_type == "Gemm") return WriteGemm(writer, job);
  QTX_ASSIGN_OR_RETURN(const Dims a, writer.Dims(job.Input(0)));
  QTX_ASSIGN_OR_RETURN(const Dims b, writer.Dims(job.Input(1)));
  QTX_ASSIGN_OR_RETURN(const Dims y, BatchedDims(a, b));
  if (b.size() != 2 || !writer.IsConstant(job.Input(1))) return WriteBatchMatMul(writer, job, y);
  const Product product{a, y, a.size() > 2};
  return WriteFullyConnected(writer, job, product, LayerOf(job, 1, b[1]), false);
}

}  // namespace qtx::convert
