#include "tflite/rules.h"

#include <algorithm>
#include <cmath>

#include "qtx/format/accumulator.h"
#include "tflite/tensor_out.h"
#include "tflite/types.h"

namespace qtx::convert {
namespace {

using format::ElementType;
using schema::ActivationFunctionType;

Error NoKernel(const std::string& value, std::string message) {
  return {ErrorCode::kUnsupported, "'" + value + "'", std::move(message)};
}

bool HasOffset(const format::Quantization& q) {
  return std::ranges::any_of(q.offset, [](std::int32_t offset) { return offset != 0; });
}

Result<void> CheckActivation(const std::string& value, const format::TensorType& type) {
  if (!type.quantization) return {};
  const std::string name(format::Name(type.elem_type));
  if (type.elem_type != ElementType::kInt8Q && type.elem_type != ElementType::kUint8Q &&
      type.elem_type != ElementType::kInt16Q) {
    return NoKernel(value, "an activation of " + name + "; kernels take INT8Q, UINT8Q, INT16Q");
  }
  if (type.quantization->scale.size() != 1) {
    return NoKernel(value, "an activation with " + std::to_string(type.quantization->scale.size()) +
                               " scales; kernels take one");
  }
  if (type.elem_type == ElementType::kInt16Q && HasOffset(*type.quantization)) {
    return NoKernel(value, "INT16Q with an offset; kernels take 0");
  }
  return {};
}

format::IntegerRange RangeUnder(ActivationFunctionType activation, format::TensorType type) {
  type.quantization->quant_min.reset();
  type.quantization->quant_max.reset();
  (void)NarrowTo(activation, type);  // a range for each of the three
  return format::StoredRange(type.elem_type, *type.quantization);
}

std::optional<ActivationFunctionType> OriginActivation(const format::Node& node) {
  if (!node.origin || node.origin->framework != "tflite") return std::nullopt;
  for (const format::Attribute& attribute : node.origin->attributes) {
    if (attribute.name != "fused_activation_function") continue;
    for (const auto activation : {ActivationFunctionType::RELU, ActivationFunctionType::RELU6,
                                  ActivationFunctionType::RELU_N1_TO_1}) {
      if (attribute.s == schema::EnumNameActivationFunctionType(activation)) return activation;
    }
  }
  return std::nullopt;
}

Result<void> CheckWeights(TfliteWriter& writer, const Layer& layer, const format::TensorType& x) {
  QTX_ASSIGN_OR_RETURN(const format::TensorType w, writer.Type(layer.w));
  if (!w.quantization) return {};
  const format::Quantization& q = *w.quantization;
  const std::string name(format::Name(w.elem_type));
  const bool bytes = x.elem_type == ElementType::kUint8Q;
  const bool four = w.elem_type == ElementType::kInt4Q && x.elem_type != ElementType::kInt16Q;
  if (bytes ? w.elem_type != ElementType::kUint8Q : w.elem_type != ElementType::kInt8Q && !four) {
    return NoKernel(layer.w,
                    "weights of " + name + " for x of " + std::string(format::Name(x.elem_type)));
  }
  if (!bytes && HasOffset(q)) {
    return NoKernel(layer.w, "weights with an offset; TFLite's signed weights are symmetric");
  }
  if (HasBlocks(q)) {
    if (layer.takes_blocks && !x.quantization) return {};
    return NoKernel(layer.w, "weights in blocks; FULLY_CONNECTED of FLOAT alone takes them");
  }
  if (!q.axis.empty() && (bytes || q.axis != std::vector{layer.w_axis})) {
    return NoKernel(layer.w, "scales along another axis than that of the output channels");
  }
  return {};
}

// The bias's scale as kernels take it, whatever the file says.
Result<void> CheckBiasScale(TfliteWriter& writer, const Layer& layer, const format::TensorType& x,
                            const format::Quantization& bias) {
  QTX_ASSIGN_OR_RETURN(const format::TensorType w, writer.Type(layer.w));
  bool rounded = false;
  for (std::int64_t i = 0; i < layer.channels; ++i) {
    const float scale = format::ScaleAt(bias, i);
    const float w_scale = format::ScaleAt(*w.quantization, i);
    const float product = x.quantization->scale[0] * w_scale;
    if (!format::IsUnitOfProducts(
            scale, static_cast<double>(x.quantization->scale[0]) * static_cast<double>(w_scale))) {
      return NoKernel(layer.bias, "scale " + format::HexFloat(scale) +
                                      ", expected x * w = " + format::HexFloat(product));
    }
    rounded |= scale != product;
  }
  if (HasOffset(bias)) return NoKernel(layer.bias, "a bias with an offset");
  if (rounded) {
    writer.ledger().Changed(layer.bias, "scale",
                            "replaced by x_scale * w_scale, which kernels use; a few ulp apart");
  }
  return {};
}

// What the kernel of integers wants of the weights, the result and the bias of a quantized x.
Result<void> CheckIntegers(TfliteWriter& writer, const Layer& layer, const format::TensorType& x) {
  QTX_ASSIGN_OR_RETURN(const format::TensorType w, writer.Type(layer.w));
  QTX_ASSIGN_OR_RETURN(const format::TensorType y, writer.Type(layer.y));
  if (!w.quantization) return NoKernel(layer.w, "FLOAT weights for a quantized x");
  if (x.elem_type != y.elem_type) {
    return NoKernel(layer.y, "a result of " + std::string(format::Name(y.elem_type)) +
                                 " from x of " + std::string(format::Name(x.elem_type)) +
                                 "; the kernel gives what it takes");
  }
  if (layer.bias.empty() || !writer.IsConstant(layer.bias)) return {};
  QTX_ASSIGN_OR_RETURN(const format::Tensor bias, writer.Constant(layer.bias));
  if (bias.elem_type != ElementType::kInt32Q) {
    return NoKernel(layer.bias, "a bias of " + std::string(format::Name(bias.elem_type)) +
                                    "; the kernel takes INT32Q with scale x * w");
  }
  return CheckBiasScale(writer, layer, x, *bias.quantization);
}

Result<int> AddWideBias(TfliteWriter& writer, const std::string& name, const format::Tensor& bias) {
  format::Tensor wide{ElementType::kInt64, bias.dims, bias.quantization, {}};
  const std::vector<std::int64_t> values = format::UnpackIntegers(bias);
  const auto bytes = std::as_bytes(std::span(values));
  wide.bytes.assign(bytes.begin(), bytes.end());
  return writer.AddConstant(name, wide);
}

}  // namespace

format::TensorType Float() {
  format::TensorType type;
  type.elem_type = ElementType::kFloat;
  return type;
}

Result<Kernel> KernelFor(const TfliteWriter& writer, const std::vector<std::string>& values) {
  std::optional<ElementType> storage;
  bool integer = true;
  for (const std::string& value : values) {
    QTX_ASSIGN_OR_RETURN(const format::TensorType type, writer.Type(value));
    const auto fits = CheckActivation(value, type);
    if (!fits.has_value() && !writer.IsConstant(value)) return fits.error();
    integer &= fits.has_value() && type.quantization.has_value() &&
               storage.value_or(type.elem_type) == type.elem_type;
    storage = type.elem_type;
  }
  return integer ? Kernel::kInteger : Kernel::kReal;
}

Result<int> UseFor(TfliteWriter& writer, Kernel kernel, const std::string& value, Order order) {
  QTX_ASSIGN_OR_RETURN(const format::TensorType type, writer.Type(value));
  const bool converts = kernel == Kernel::kReal && type.quantization;
  return converts ? writer.UseAs(value, order, Float()) : writer.Use(value, order);
}

bool HasParameters(const format::TensorType& type, float scale, std::int32_t offset) {
  return type.quantization && type.quantization->scale == std::vector{scale} &&
         format::OffsetAt(*type.quantization, 0) == offset;
}

Result<ActivationFunctionType> FusedInto(const TfliteWriter& writer, const Job& job) {
  using enum ActivationFunctionType;
  QTX_ASSIGN_OR_RETURN(const format::TensorType type, writer.Type(job.output));
  if (!type.quantization) return job.fused.value_or(NONE);
  const format::IntegerRange range = format::StoredRange(type.elem_type, *type.quantization);
  if (job.fused) {
    const format::IntegerRange given = RangeUnder(*job.fused, type);
    if (given.min >= range.min && given.max <= range.max) return *job.fused;
    return NoKernel(job.output, "a range narrower than that of the activation before it");
  }
  std::vector<ActivationFunctionType> candidates = {NONE, RELU, RELU6, RELU_N1_TO_1};
  if (const auto origin = OriginActivation(job.node))
    candidates.insert(candidates.begin(), *origin);
  for (const ActivationFunctionType candidate : candidates) {
    if (RangeUnder(candidate, type) == range) return candidate;
  }
  return NoKernel(job.output, "stored values in [" + std::to_string(range.min) + ", " +
                                  std::to_string(range.max) +
                                  "], to which no fused activation clamps");
}

Result<Kernel> KernelForLayer(TfliteWriter& writer, const Layer& layer) {
  QTX_ASSIGN_OR_RETURN(const format::TensorType x, writer.Type(layer.x));
  QTX_ASSIGN_OR_RETURN(const format::TensorType w, writer.Type(layer.w));
  QTX_ASSIGN_OR_RETURN(const format::TensorType y, writer.Type(layer.y));
  QTX_RETURN_IF_ERROR(CheckActivation(layer.x, x));
  QTX_RETURN_IF_ERROR(CheckActivation(layer.y, y));
  auto fits = CheckWeights(writer, layer, x);
  if (!x.quantization && !w.quantization) return Kernel::kReal;
  if (!x.quantization && fits.has_value()) {
    writer.ledger().Changed(layer.x, "arithmetic", "TFLite's kernel quantizes it at run time");
    return Kernel::kHybrid;
  }
  if (w.quantization && HasBlocks(*w.quantization)) return std::move(fits).error();
  if (x.quantization && fits.has_value()) fits = CheckIntegers(writer, layer, x);
  if (fits.has_value()) return Kernel::kInteger;
  writer.ledger().Changed(layer.y, "kernel",
                          "in FLOAT: " + fits.error().where + ": " + fits.error().message);
  return Kernel::kReal;
}

Result<int> UseWeights(TfliteWriter& writer, const Layer& layer, const Permutation& perm,
                       Kernel kernel) {
  if (!writer.IsConstant(layer.w)) return NoKernel(layer.w, "weights are not constant");
  QTX_ASSIGN_OR_RETURN(format::Tensor constant, writer.Constant(layer.w));
  if (!perm.empty()) constant = Permute(constant, perm);
  QTX_ASSIGN_OR_RETURN(const int index, writer.AddConstant(layer.w, constant));
  if (kernel != Kernel::kReal) return index;
  QTX_ASSIGN_OR_RETURN(const format::TensorType own, writer.Type(layer.w));
  return writer.Converted(index, layer.w, own, Float());
}

Result<ActivationFunctionType> ActivationFor(const TfliteWriter& writer, const Job& job,
                                             Kernel kernel) {
  if (kernel == Kernel::kInteger) return FusedInto(writer, job);
  return job.fused.value_or(ActivationFunctionType::NONE);
}

Result<format::TensorType> TypeFrom(const TfliteWriter& writer, const Job& job, Kernel kernel) {
  if (kernel == Kernel::kInteger) return writer.Type(job.output);
  return Float();
}

Result<int> UseBias(TfliteWriter& writer, const Layer& layer, Kernel kernel) {
  if (layer.bias.empty()) return -1;
  if (!writer.IsConstant(layer.bias)) return NoKernel(layer.bias, "a bias that is no constant");
  QTX_ASSIGN_OR_RETURN(format::Tensor bias, writer.Constant(layer.bias));
  if (format::ElementCount(bias) != layer.channels) {
    return NoKernel(layer.bias, "shape " + format::ToString(bias.dims) + ", expected [" +
                                    std::to_string(layer.channels) + "]");
  }
  if (kernel == Kernel::kInteger) {
    bias.dims = {layer.channels};
    if (!bias.quantization->axis.empty()) bias.quantization->axis = {0};
    QTX_ASSIGN_OR_RETURN(const format::TensorType x, writer.Type(layer.x));
    return x.elem_type == ElementType::kInt16Q ? AddWideBias(writer, layer.bias, bias)
                                               : writer.AddConstant(layer.bias, bias);
  }
  if (bias.quantization) {
    QTX_ASSIGN_OR_RETURN(bias, FloatOf(bias));
    writer.ledger().Changed(layer.bias, "elem_type", "FLOAT, rounded once");
  } else if (bias.elem_type != ElementType::kFloat) {
    return NoKernel(layer.bias, std::string(format::Name(bias.elem_type)) + " for FLOAT x");
  }
  bias.dims = {layer.channels};
  return writer.AddConstant(layer.bias, bias);
}

Result<int> UseBiasOrZeros(TfliteWriter& writer, const Layer& layer, Kernel kernel) {
  if (!layer.bias.empty()) return UseBias(writer, layer, kernel);
  QTX_ASSIGN_OR_RETURN(const format::TensorType x, writer.Type(layer.x));
  QTX_ASSIGN_OR_RETURN(const format::TensorType w, writer.Type(layer.w));
  writer.ledger().Changed(layer.y, "bias", "zeros; LiteRT takes no convolution without");
  const std::string name = layer.y + "/bias";
  if (kernel != Kernel::kInteger) {
    QTX_ASSIGN_OR_RETURN(const format::Tensor zeros,
                         format::MakeTensor(ElementType::kFloat, {layer.channels}));
    return writer.AddConstant(name, zeros);
  }
  format::Quantization q;
  for (const float scale : w.quantization->scale) {
    q.scale.push_back(x.quantization->scale[0] * scale);
    if (!std::isnormal(q.scale.back()))
      return NoKernel(layer.w,
                      "x * w is no scale of binary32: " + format::HexFloat(q.scale.back()));
  }
  if (q.scale.size() > 1) q.axis = {0};
  QTX_ASSIGN_OR_RETURN(const format::Tensor zeros,
                       format::MakeTensor(ElementType::kInt32Q, {layer.channels}, std::move(q)));
  return x.elem_type == ElementType::kInt16Q ? AddWideBias(writer, name, zeros)
                                             : writer.AddConstant(name, zeros);
}

}  // namespace qtx::convert
