// Conv, FC and the pools.
#include <cmath>

#include "caffe2/ops.h"
#include "caffe2/window.h"
#include "errors.h"

namespace qtx::convert {
namespace {

using format::Attribute;
using format::ElementType;
using format::Tensor;
using format::TensorType;

// Operands of a product: the blobs of x, w and the bias.
struct Operands {
  std::string x, w, bias;  // bias may be ""
};

Result<Operands> OperandsOf(Caffe2Builder& builder, const Caffe2Operator& op) {
  Operands operands;
  QTX_ASSIGN_OR_RETURN(operands.x, Caffe2Input(op, 0));
  QTX_ASSIGN_OR_RETURN(operands.w, Caffe2Input(op, 1));
  if (op.inputs.size() > 2) operands.bias = op.inputs[2];
  if (IsInt8(op)) {
    QTX_RETURN_IF_ERROR(builder.QuantizedType(operands.x));
    QTX_RETURN_IF_ERROR(builder.QuantizedType(operands.w));
  }
  return operands;
}

// Int8 kernels hand the bias' integers to QNNPACK, which takes them in units of x_scale * w_scale.
void NoteBiasScale(Caffe2Builder& builder, const Operands& operands) {
  const TensorType x = builder.Type(operands.x), w = builder.Type(operands.w),
                   bias = builder.Type(operands.bias);
  if (!x.quantization || !w.quantization || !bias.quantization) return;
  const float expected = x.quantization->scale[0] * w.quantization->scale[0];
  if (bias.quantization->scale[0] == expected && bias.quantization->offset.empty()) return;
  builder.NoteChange(operands.bias, "scale",
                     "kept; Caffe2's own kernel adds the integers in units of "
                     "x_scale * w_scale, " +
                         format::HexFloat(expected));
}

Result<std::string> UseBias(Caffe2Builder& builder, const Operands& operands, std::int64_t size) {
  if (operands.bias.empty()) return std::string();
  const Tensor* bias = builder.Constant(operands.bias);
  if (bias == nullptr) return builder.Use(operands.bias);
  if (format::ElementCount(*bias) != size || bias->dims.size() != 1) {
    return Invalid("blob '" + operands.bias + "'", "found shape " + format::ToString(bias->dims) +
                                                       ", expected [" + std::to_string(size) + "]");
  }
  NoteBiasScale(builder, operands);
  return builder.UseBias(operands.bias);
}

// Weights of a scale per output channel come beside them, as Glow reads them: the offsets are of
// the shifted bytes.  Source: pytorch/glow, Caffe2ModelLoader.cpp, quantize_groupwise.
Result<void> ReadGroupwise(Caffe2Builder& builder, const Caffe2Operator& op, const std::string& w) {
  if (op.IntOr("quantize_groupwise", 0) == 0) return {};
  const Tensor* weights = builder.Constant(w);
  const Tensor* scales = builder.Constant(w + "_loaded_scales");
  const Tensor* offsets = builder.Constant(w + "_loaded_offsets");
  if (weights != nullptr && weights->quantization && !weights->quantization->axis.empty())
    return {};
  if (weights == nullptr || !weights->quantization || scales == nullptr || offsets == nullptr)
    return Invalid("quantize_groupwise", "expected constants '" + w + "', '" + w +
                                             "_loaded_scales' and '" + w + "_loaded_offsets'");
  const std::int64_t channels = weights->dims.empty() ? 0 : weights->dims[0];
  if (scales->elem_type != ElementType::kFloat || offsets->elem_type != ElementType::kInt32 ||
      format::ElementCount(*scales) != channels || format::ElementCount(*offsets) != channels)
    return Invalid("quantize_groupwise",
                   "expected " + std::to_string(channels) + " FLOAT scales and INT32 offsets");
  Tensor grouped = *weights;
  format::Quantization& q = *grouped.quantization;
  q.axis = {0};
  q.scale.assign(scales->As<float>().begin(), scales->As<float>().end());
  q.offset.assign(offsets->As<std::int32_t>().begin(), offsets->As<std::int32_t>().end());
  builder.NoteChange(w, "scale", "one per output channel, of '" + w + "_loaded_scales'");
  builder.SetConstant(w, std::move(grouped));
  return {};
}

// Dimensions of the weights: [M,kH,kW,C/group] in NHWC, [M,C/group,kH,kW] in NCHW.
Result<void> CheckWeights(const Tensor& w, const std::string& blob, std::int64_t group,
                          Caffe2Window& window) {
  if (w.dims.size() != 4)
    return Invalid("blob '" + blob + "'", "rank " + std::to_string(w.dims.size()) + ", expected 4");
  const std::array<std::int64_t, 2> kernel =
      window.channels_last ? std::array{w.dims[1], w.dims[2]} : std::array{w.dims[2], w.dims[3]};
  if (window.kernel[0] != 0 && window.kernel != kernel) {
    return Invalid("kernel", "found " + std::to_string(window.kernel[0]) + " x " +
                                 std::to_string(window.kernel[1]) + ", expected " +
                                 std::to_string(kernel[0]) + " x " + std::to_string(kernel[1]) +
                                 " for weights " + format::ToString(w.dims));
  }
  window.kernel = kernel;
  if (group < 1 || w.dims[0] % group != 0)
    return Invalid("group",
                   "found " + std::to_string(group) + " for weights " + format::ToString(w.dims));
  return {};
}

// The type of a product's result, of rank `rank`.
Result<TensorType> ProductType(const Caffe2Operator& op, std::size_t rank) {
  TensorType type;
  type.elem_type = ElementType::kFloat;
  if (IsInt8(op)) {
    QTX_ASSIGN_OR_RETURN(type, Caffe2OutputType(op));
  }
  type.shape = UnknownShape(rank);
  return type;
}

// x of a fully connected layer as [N, rest].
Result<std::string> Flattened(Caffe2Builder& builder, const Caffe2Operator& op,
                              const std::string& x) {
  QTX_ASSIGN_OR_RETURN(const std::string name, builder.Use(x));
  TensorType type = builder.Type(x);
  if (type.shape && type.shape->size() == 2) return name;
  type.shape = UnknownShape(2);
  return builder.EmitInner(op, {"Flatten", {name}, {Attribute::Int("axis", 1)}}, x + "/flat",
                           std::move(type));
}

}  // namespace

Result<void> ConvertCaffe2Conv(Caffe2Builder& builder, const Caffe2Operator& op) {
  QTX_ASSIGN_OR_RETURN(const Operands operands, OperandsOf(builder, op));
  QTX_ASSIGN_OR_RETURN(Caffe2Window window, Caffe2WindowOf(op));
  QTX_RETURN_IF_ERROR(ReadGroupwise(builder, op, operands.w));
  const Tensor* w = builder.Constant(operands.w);
  if (w == nullptr) return Unsupported("blob '" + operands.w + "'", "computed weights");
  const std::int64_t group = op.IntOr("group", 1);
  QTX_RETURN_IF_ERROR(CheckWeights(*w, operands.w, group, window));
  const std::int64_t channels = w->dims[0];
  if (IsInt8(op) && !window.channels_last)
    builder.NoteChange(op.outputs.empty() ? op.type : op.outputs[0], "order",
                       "NCHW, as the net says; Caffe2's own kernel has NHWC only");
  const auto order = window.channels_last ? Layout::kFirst : Layout::kOwn;
  Draft draft{"Conv", {}, WindowAttributes(window)};
  if (group != 1) draft.attributes.push_back(Attribute::Int("group", group));
  QTX_ASSIGN_OR_RETURN(const std::string x, builder.Use(operands.x, order));
  draft.inputs = {
      x, builder.UseConstant(operands.w, window.channels_last ? NhwcToNchw() : Permutation{})};
  QTX_ASSIGN_OR_RETURN(const std::string bias, UseBias(builder, operands, channels));
  if (!bias.empty()) draft.inputs.push_back(bias);
  QTX_ASSIGN_OR_RETURN(TensorType type, ProductType(op, 4));
  return builder.Emit(op, std::move(draft), std::move(type), order, op.type.ends_with("Relu"));
}

Result<void> ConvertCaffe2Fc(Caffe2Builder& builder, const Caffe2Operator& op) {
  QTX_ASSIGN_OR_RETURN(const Operands operands, OperandsOf(builder, op));
  for (const char* axis : {"axis", "axis_w"}) {
    if (op.IntOr(axis, 1) != 1)
      return Unsupported(axis, "found " + std::to_string(op.IntOr(axis, 1)) + ", expected 1");
  }
  if (op.IntOr("dequantize_output", 0) != 0)
    return Unsupported("dequantize_output", "x is quantized at run time");
  const Tensor* w = builder.Constant(operands.w);
  if (w == nullptr) return Unsupported("blob '" + operands.w + "'", "computed weights");
  if (w->dims.size() != 2)
    return Invalid("blob '" + operands.w + "'",
                   "rank " + std::to_string(w->dims.size()) + ", expected 2");
  const std::int64_t size = w->dims[0];
  Draft draft{"Gemm", {}, {Attribute::Int("transB", 1)}};
  QTX_ASSIGN_OR_RETURN(const std::string x, Flattened(builder, op, operands.x));
  draft.inputs = {x, builder.UseConstant(operands.w, {})};
  QTX_ASSIGN_OR_RETURN(const std::string bias, UseBias(builder, operands, size));
  if (!bias.empty()) draft.inputs.push_back(bias);
  QTX_ASSIGN_OR_RETURN(TensorType type, ProductType(op, 2));
  return builder.Emit(op, std::move(draft), std::move(type), Layout::kOwn,
                      op.type.ends_with("Relu"));
}

Result<void> ConvertCaffe2Pool(Caffe2Builder& builder, const Caffe2Operator& op) {
  QTX_ASSIGN_OR_RETURN(const std::string x, Caffe2Input(op, 0));
  QTX_ASSIGN_OR_RETURN(const Caffe2Window window, Caffe2WindowOf(op));
  QTX_ASSIGN_OR_RETURN(TensorType type, Caffe2ResultType(builder, op));
  type.shape = UnknownShape(4);
  const bool max = op.type.find("MaxPool") != std::string::npos;
  const auto order = window.channels_last ? Layout::kFirst : Layout::kOwn;
  Draft draft;
  if (window.global) {
    draft.op_type = max ? "GlobalMaxPool" : "GlobalAveragePool";
  } else {
    if (window.kernel[0] < 1 || window.kernel[1] < 1) return Invalid("kernel", "missing");
    draft.op_type = max ? "MaxPool" : "AveragePool";
    draft.attributes = WindowAttributes(window);
    if (!max && op.IntOr("count_include_pad", 0) != 0)
      draft.attributes.push_back(Attribute::Int("count_include_pad", 1));
  }
  QTX_ASSIGN_OR_RETURN(const std::string name, builder.Use(x, order));
  draft.inputs = {name};
  return builder.Emit(op, std::move(draft), std::move(type), order, op.type.ends_with("Relu"));
}

}  // namespace qtx::convert
