#include "tflite/window.h"

#include <algorithm>
#include <cmath>

#include "errors.h"
#include "qtx/format/accumulator.h"
#include "tflite/types.h"

namespace qtx::convert {
namespace {

using format::Attribute;
using format::ElementType;

struct Pads {
  std::int64_t begin = 0, end = 0;
};

// Along one axis: the pads, once the output size is found to be the one that TFLite computes.
Result<Pads> PadsAlong(std::int64_t input, std::int64_t output, std::int64_t span,
                       std::int64_t stride, schema::Padding padding) {
  const bool same = padding == schema::Padding::SAME;
  const std::int64_t expected =
      same ? (input + stride - 1) / stride : (input < span ? 0 : (input - span) / stride + 1);
  if (output != expected) {
    return Invalid("output",
                   "size " + std::to_string(output) + ", expected " + std::to_string(expected));
  }
  const std::int64_t total =
      same ? std::max<std::int64_t>((output - 1) * stride + span - input, 0) : 0;
  return Pads{total / 2, total - total / 2};
}

std::vector<std::int64_t> Pair(const std::array<std::int64_t, 2>& pair) {
  return {pair[0], pair[1]};
}

// x_scale * w_scale.  Errors: kInvalid where binary32 does not hold it.
Result<format::Quantization> ProductScale(const TfliteTensor& bias, const format::Quantization& x,
                                          const format::Quantization& w) {
  format::Quantization q;
  for (const float scale : w.scale) q.scale.push_back(x.scale[0] * scale);
  if (!w.axis.empty()) q.axis = {0};
  q.scheme = format::Scheme::kSymmetric;
  if (std::ranges::all_of(q.scale, [](float s) { return s > 0 && std::isfinite(s); })) return q;
  return Invalid("bias '" + bias.name + "'", "x_scale * w_scale is 0 or not finite in binary32");
}

// True where the bias's own scales are the units in which kernels add it.  REQUIRES: one scale, or
// `size`, in each.
bool HasUnitsOfProducts(const format::Quantization& bias, const format::Quantization& x,
                        const format::Quantization& w, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) {
    const double unit =
        static_cast<double>(x.scale[0]) * static_cast<double>(format::ScaleAt(w, i));
    if (!format::IsUnitOfProducts(format::ScaleAt(bias, i), unit)) return false;
  }
  return true;
}

Result<void> CheckScales(const TfliteTensor& tensor, const format::Quantization& q,
                         std::int64_t size) {
  const std::int64_t count = std::ssize(q.scale);
  if (count == 1 || count == size) return {};
  return Invalid("tensor '" + tensor.name + "'", std::to_string(count) +
                                                     " scales, expected 1 or one for each of " +
                                                     std::to_string(size) + " outputs");
}

// A bias that an operator gives: in a model of FLOAT16 the DEQUANTIZE of a constant.  Integers need
// their values here, to be brought to the units of the products.
Result<std::string> UseComputedBias(TfliteBuilder& builder, int bias) {
  QTX_ASSIGN_OR_RETURN(const format::TensorType type, builder.Type(bias));
  if (type.elem_type == ElementType::kFloat) return builder.Use(bias, Layout::kOwn);
  return Error{ErrorCode::kUnsupported, "bias '" + builder.tensor(bias).name + "'",
               std::string(format::Name(type.elem_type)) +
                   " that an operator computes, expected FLOAT or a constant"};
}

bool HasScale(const TfliteTensor& tensor) {
  return tensor.quantization != nullptr && tensor.quantization->scale() != nullptr &&
         tensor.quantization->scale()->size() > 0;
}

}  // namespace

Result<std::vector<Attribute>> WindowAttributes(const Window& window, const format::Dims& input,
                                                const format::Dims& output) {
  if (input.size() != 4 || output.size() != 4) return Invalid("shape", "expected rank 4");
  std::vector<std::int64_t> pads(4);
  for (std::size_t axis = 0; axis < 2; ++axis) {
    if (window.stride[axis] < 1)
      return Invalid("stride", std::to_string(window.stride[axis]) + ", expected 1 or more");
    if (window.dilation[axis] < 1) {
      return Invalid("dilation", std::to_string(window.dilation[axis]) + ", expected 1 or more");
    }
    const std::int64_t span = (window.kernel[axis] - 1) * window.dilation[axis] + 1;
    if (window.kernel[axis] < 1 || span > kMaxSpan) {
      return Invalid("kernel", "spans " + std::to_string(span) + " elements, expected 1 to " +
                                   std::to_string(kMaxSpan));
    }
    QTX_ASSIGN_OR_RETURN(const Pads pair, PadsAlong(input[axis + 1], output[axis + 1], span,
                                                    window.stride[axis], window.padding));
    pads[axis] = pair.begin;
    pads[axis + 2] = pair.end;
  }
  std::vector<Attribute> attributes = {Attribute::Ints("kernel_shape", Pair(window.kernel)),
                                       Attribute::Ints("pads", pads),
                                       Attribute::Ints("strides", Pair(window.stride))};
  if (window.dilation != std::array<std::int64_t, 2>{1, 1}) {
    attributes.push_back(Attribute::Ints("dilations", Pair(window.dilation)));
  }
  return attributes;
}

Result<void> NoteHybrid(TfliteBuilder& builder, const TfliteOperator& op) {
  QTX_ASSIGN_OR_RETURN(const format::TensorType x, builder.Type(op.inputs[0]));
  QTX_ASSIGN_OR_RETURN(const format::TensorType w, builder.Type(op.inputs[1]));
  if (x.elem_type != ElementType::kFloat || !w.quantization) return {};
  builder.Note(builder.tensor(op.inputs[0]).name, "arithmetic",
               "stays FLOAT; TFLite's kernel quantizes it at run time");
  return {};
}

Result<void> ScaleBias(TfliteBuilder& builder, const BiasPlace& place, int bias) {
  const TfliteTensor& tensor = builder.tensor(bias);
  QTX_ASSIGN_OR_RETURN(format::TensorType type, builder.Type(bias));
  QTX_ASSIGN_OR_RETURN(const format::TensorType x, builder.Type(place.x));
  QTX_ASSIGN_OR_RETURN(const format::TensorType w, builder.Type(place.w));
  if (HasScale(tensor) || tensor.type != schema::TensorType::INT32 || !x.quantization ||
      !w.quantization) {
    return {};
  }
  QTX_ASSIGN_OR_RETURN(const format::Quantization q,
                       ProductScale(tensor, *x.quantization, *w.quantization));
  if (type.quantization.has_value()) {  // an operator before this one has set it
    if (*type.quantization == q) return {};
    return Error{ErrorCode::kUnsupported, "bias '" + tensor.name + "'",
                 "shared by operators with other scales"};
  }
  type.elem_type = ElementType::kInt32Q;
  type.quantization = q;
  builder.SetType(bias, std::move(type), "scale", "x_scale * w_scale; the file has none");
  return {};
}

Result<std::string> UseBias(TfliteBuilder& builder, const TfliteOperator& op,
                            const BiasPlace& place, std::int64_t size) {
  if (!builder.HasInput(op, place.position)) return std::string();
  const int bias = op.inputs[place.position];
  const TfliteTensor& tensor = builder.tensor(bias);
  if (tensor.dims != format::Dims{size}) {
    return Invalid("bias '" + tensor.name + "'", "shape " + format::ToString(tensor.dims) +
                                                     ", expected [" + std::to_string(size) + "]");
  }
  if (!tensor.constant()) return UseComputedBias(builder, bias);
  QTX_RETURN_IF_ERROR(ScaleBias(builder, place, bias));
  QTX_ASSIGN_OR_RETURN(const format::TensorType type, builder.Type(bias));
  QTX_ASSIGN_OR_RETURN(const format::TensorType x, builder.Type(place.x));
  QTX_ASSIGN_OR_RETURN(const format::TensorType w, builder.Type(place.w));
  if (type.elem_type != ElementType::kInt32Q || !x.quantization || !w.quantization) {
    return builder.UseConstant(bias, {});
  }
  QTX_RETURN_IF_ERROR(CheckScales(tensor, *type.quantization, size));
  QTX_RETURN_IF_ERROR(CheckScales(builder.tensor(place.w), *w.quantization, size));
  if (HasUnitsOfProducts(*type.quantization, *x.quantization, *w.quantization, size)) {
    return builder.UseConstant(bias, {});
  }
  QTX_ASSIGN_OR_RETURN(format::Tensor copy, ConstantOf(tensor, type));
  QTX_ASSIGN_OR_RETURN(copy.quantization, ProductScale(tensor, *x.quantization, *w.quantization));
  builder.Note(tensor.name, "scale",
               "TFLite adds it as stored, in units of x_scale * w_scale: '" +
                   builder.tensor(op.outputs[0]).name + "' has a copy of that scale");
  return builder.AddConstant(tensor.name, copy);
}

Result<std::vector<Attribute>> TransposedWindowAttributes(const Window& window,
                                                          const format::Dims& input,
                                                          const format::Dims& output) {
  std::vector<std::int64_t> pads(4), beyond(2);
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const std::int64_t stride = window.stride[axis], kernel = window.kernel[axis];
    if (stride < 1 || stride > kMaxSpan) {
      return Invalid("stride", std::to_string(stride) + ", expected 1 or more");
    }
    if (kernel < 1 || kernel > kMaxSpan) return Invalid("kernel", "out of range");
    // TFLite places the windows as the convolution of the output would have them.
    const std::int64_t x = input[axis + 1], y = output[axis + 1];
    const std::int64_t back = (y + stride - 1) / stride;
    const bool same = window.padding == schema::Padding::SAME;
    pads[axis] = same ? std::max<std::int64_t>((back - 1) * stride + kernel - y, 0) / 2 : 0;
    const std::int64_t end = (x - 1) * stride + kernel - y - pads[axis];
    pads[axis + 2] = std::max<std::int64_t>(end, 0);
    beyond[axis] = std::max<std::int64_t>(-end, 0);
    if (beyond[axis] >= stride || pads[axis + 2] >= kernel + stride) {
      return Invalid("output",
                     "size " + std::to_string(y) + " for input size " + std::to_string(x));
    }
  }
  std::vector<Attribute> attributes = {Attribute::Ints("kernel_shape", Pair(window.kernel))};
  if (beyond != std::vector<std::int64_t>{0, 0}) {
    attributes.push_back(Attribute::Ints("output_padding", beyond));
  }
  attributes.push_back(Attribute::Ints("pads", pads));
  attributes.push_back(Attribute::Ints("strides", Pair(window.stride)));
  return attributes;
}

}  // namespace qtx::convert
