#include "tflite/types.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "errors.h"

namespace qtx::convert {
namespace {

using format::ElementType;
using schema::TensorType;

template <typename T>
std::vector<T> ToVector(const flatbuffers::Vector<T>* vector) {
  return vector == nullptr ? std::vector<T>() : std::vector<T>(vector->begin(), vector->end());
}

Result<ElementType> StorageOf(TensorType type) {
  switch (type) {
    case TensorType::FLOAT32:
      return ElementType::kFloat;
    case TensorType::FLOAT16:
      return ElementType::kFloat16;
    case TensorType::BFLOAT16:
      return ElementType::kBfloat16;
    case TensorType::FLOAT64:
      return ElementType::kDouble;
    case TensorType::INT64:
      return ElementType::kInt64;
    case TensorType::INT32:
      return ElementType::kInt32;
    case TensorType::UINT32:
      return ElementType::kUint32;
    case TensorType::INT16:
      return ElementType::kInt16;
    case TensorType::UINT16:
      return ElementType::kUint16;
    case TensorType::INT8:
      return ElementType::kInt8;
    case TensorType::UINT8:
      return ElementType::kUint8;
    case TensorType::INT4:
      return ElementType::kInt4;
    case TensorType::UINT4:
      return ElementType::kUint4;
    case TensorType::INT2:
      return ElementType::kInt2;
    case TensorType::BOOL:
      return ElementType::kBool;
    default:
      break;
  }
  const std::string name = schema::EnumNameTensorType(type);
  return Unsupported("type " + (name.empty() ? std::to_string(static_cast<int>(type)) : name));
}

// The axis that several scales go along. Some files give the axis of the weights to their 1-D bias
// too, where it lies outside the shape and only axis 0 can be meant.
Result<std::int64_t> AxisOf(const TfliteTensor& tensor, std::size_t scales, Ledger& ledger) {
  std::int64_t axis = tensor.quantization->quantized_dimension();
  const auto rank = static_cast<std::int64_t>(tensor.dims.size());
  if (rank == 1 && axis != 0) {
    ledger.Changed(tensor.name, "axis",
                   "0; the file has " + std::to_string(axis) + " on a tensor of rank 1");
    axis = 0;
  }
  if (axis < 0 || axis >= rank) {
    return Invalid("quantized dimension " + std::to_string(axis) + " of a tensor of rank " +
                   std::to_string(rank));
  }
  const std::int64_t size = tensor.dims[static_cast<std::size_t>(axis)];
  if (size != static_cast<std::int64_t>(scales)) {
    return Invalid(std::to_string(scales) + " scales, expected 1 or " + std::to_string(size) +
                   " (axis " + std::to_string(axis) + ")");
  }
  return axis;
}

Result<format::Quantization> QuantizationOf(const TfliteTensor& tensor, ElementType quantized,
                                            Ledger& ledger) {
  format::Quantization q;
  q.scale = ToVector(tensor.quantization->scale());
  QTX_RETURN_IF_ERROR(CheckPositive(q.scale));
  QTX_ASSIGN_OR_RETURN(
      q.offset, OffsetsOf(ToVector(tensor.quantization->zero_point()), q.scale.size(), quantized));
  if (q.scale.size() > 1) {
    QTX_ASSIGN_OR_RETURN(const std::int64_t axis, AxisOf(tensor, q.scale.size(), ledger));
    q.axis = {axis};
    ledger.Kept(tensor.name, "axis");
  }
  const bool is_signed = format::StorageRange(quantized).min < 0;
  q.scheme = tensor.constant() && is_signed && q.offset.empty() ? format::Scheme::kSymmetric
                                                                : format::Scheme::kAsymmetric;
  ledger.Kept(tensor.name, "scale");
  if (!q.offset.empty()) ledger.Kept(tensor.name, "offset");
  return q;
}

bool IsRange(const std::vector<float>& min, const std::vector<float>& max) {
  for (std::size_t i = 0; i < min.size(); ++i) {
    if (!std::isfinite(min[i]) || !std::isfinite(max[i]) || min[i] > max[i]) return false;
  }
  return true;
}

std::optional<format::Statistics> StatisticsOf(const TfliteTensor& tensor, Ledger& ledger) {
  if (tensor.quantization == nullptr) return std::nullopt;
  const std::vector<float> min = ToVector(tensor.quantization->min());
  const std::vector<float> max = ToVector(tensor.quantization->max());
  if (min.empty() && max.empty()) return std::nullopt;
  const std::int64_t axis =
      tensor.dims.size() == 1 ? 0 : tensor.quantization->quantized_dimension();
  const bool has_axis = axis >= 0 && axis < static_cast<std::int64_t>(tensor.dims.size());
  const std::size_t size =
      has_axis ? static_cast<std::size_t>(tensor.dims[static_cast<std::size_t>(axis)]) : 1;
  if (min.size() != max.size() || (min.size() != 1 && min.size() != size) || !IsRange(min, max)) {
    ledger.Dropped(tensor.name, "statistics",
                   "min and max match neither the tensor nor its channels");
    return std::nullopt;
  }
  format::Statistics statistics;
  statistics.min.assign(min.begin(), min.end());
  statistics.max.assign(max.begin(), max.end());
  if (min.size() > 1) statistics.axis = {axis};
  statistics.source = "tflite";
  ledger.Kept(tensor.name, "statistics");
  return statistics;
}

// min and max of integers without a scale: the format keeps statistics of reals only.
void DropStatisticsOfPlain(const TfliteTensor& tensor, Ledger& ledger, format::TensorType* type) {
  if (!type->statistics || type->elem_type == ElementType::kFloat) return;
  type->statistics.reset();
  ledger.Dropped(tensor.name, "statistics", "of plain integers");
}

// The data of a 64-bit constant of INT32Q.
Result<format::Tensor> NarrowedConstant(const TfliteTensor& tensor, const format::TensorType& type,
                                        std::int64_t count) {
  if (static_cast<std::int64_t>(tensor.data.size()) != count * 8) {
    return Invalid("buffer of " + std::to_string(tensor.data.size()) + " bytes for " +
                   std::to_string(count) + " elements of 64 bits");
  }
  QTX_ASSIGN_OR_RETURN(format::Tensor result,
                       format::MakeTensor(type.elem_type, tensor.dims, type.quantization));
  std::vector<std::int64_t> values(static_cast<std::size_t>(count));
  std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
  format::PackIntegers(values, result);
  return result;
}

// A 64-bit constant, such as the bias of 16-bit operators, whose values 32 bits hold.
bool FitsInt32(const TfliteTensor& tensor) {
  if (tensor.data.size() % sizeof(std::int64_t) != 0 || !tensor.constant()) return false;
  for (std::size_t i = 0; i < tensor.data.size(); i += sizeof(std::int64_t)) {
    std::int64_t value = 0;
    std::memcpy(&value, tensor.data.data() + i, sizeof value);
    if (value != static_cast<std::int32_t>(value)) return false;
  }
  return true;
}

bool IsBlockwise(const TfliteTensor& tensor) {
  return tensor.quantization != nullptr &&
         tensor.quantization->details_type() == schema::QuantizationDetails::BlockwiseQuantization;
}

}  // namespace

Result<void> CheckPositive(std::span<const float> scales) {
  for (std::size_t i = 0; i < scales.size(); ++i) {
    if (std::isfinite(scales[i]) && scales[i] > 0) continue;
    return Invalid("scale[" + std::to_string(i) + "] is " + format::HexFloat(scales[i]) +
                   ", expected a finite value above 0");
  }
  return {};
}

Result<std::vector<std::int32_t>> OffsetsOf(std::span<const std::int64_t> points, std::size_t count,
                                            ElementType quantized) {
  if (std::ranges::all_of(points, [](std::int64_t p) { return p == 0; })) {
    return std::vector<std::int32_t>{};
  }
  if (points.size() != count && points.size() != 1) {
    return Invalid(std::to_string(points.size()) + " zero points, expected " +
                   std::to_string(count));
  }
  const format::IntegerRange range = format::StorageRange(quantized);
  std::vector<std::int32_t> offsets;
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t point = points[points.size() == 1 ? 0 : i];
    if (point < range.min || point > range.max) {
      return Invalid("zero point " + std::to_string(point) + ", expected [" +
                     std::to_string(range.min) + ", " + std::to_string(range.max) + "]");
    }
    offsets.push_back(static_cast<std::int32_t>(point));
  }
  return offsets;
}

Result<format::TensorType> TypeOf(const TfliteTensor& tensor, std::span<const TfliteTensor> tensors,
                                  Ledger& ledger) {
  if (tensor.sparse) return Unsupported("a sparse constant");
  format::TensorType type;
  QTX_ASSIGN_OR_RETURN(type.elem_type, StorageOf(tensor.type));
  type.shape = format::ToShape(tensor.dims);
  ledger.Kept(tensor.name, "elem_type");
  if (tensor.dynamic) {
    ledger.Changed(tensor.name, "shape",
                   "fixed at " + format::ToString(tensor.dims) + "; the file lets it vary");
  }
  const schema::QuantizationParameters* source = tensor.quantization;
  const bool blocks = IsBlockwise(tensor);
  if (source != nullptr && !blocks && source->details_type() != schema::QuantizationDetails::NONE) {
    return Unsupported("quantization of type " +
                       std::to_string(static_cast<int>(source->details_type())) + " " +
                       schema::EnumNameQuantizationDetails(source->details_type()));
  }
  type.statistics = StatisticsOf(tensor, ledger);
  const bool has_scale =
      source != nullptr && source->scale() != nullptr && source->scale()->size() > 0;
  if (!has_scale && !blocks) {
    DropStatisticsOfPlain(tensor, ledger, &type);
    return type;
  }
  if (type.elem_type == ElementType::kFloat) {
    ledger.Dropped(tensor.name, "scale",
                   "a FLOAT tensor has no storage type to which it could apply");
    return type;
  }
  if (type.elem_type == ElementType::kInt64 && FitsInt32(tensor)) {
    type.elem_type = ElementType::kInt32;
    ledger.Changed(tensor.name, "elem_type", "INT32Q; all of its 64-bit values fit");
  }
  const auto quantized = format::QuantizedOf(type.elem_type);
  if (!quantized.has_value() || !format::IsIntegerStorage(*quantized)) {
    return Unsupported(std::string(format::Name(type.elem_type)) +
                       " with a scale, which no quantized type stores");
  }
  if (blocks) {
    QTX_ASSIGN_OR_RETURN(type.quantization, BlocksOf(tensor, tensors, *quantized));
    ledger.Kept(tensor.name, "blocks");
  } else {
    QTX_ASSIGN_OR_RETURN(type.quantization, QuantizationOf(tensor, *quantized, ledger));
  }
  type.elem_type = *quantized;
  return type;
}

Result<format::Tensor> ConstantOf(const TfliteTensor& tensor, const format::TensorType& type) {
  QTX_ASSIGN_OR_RETURN(const std::int64_t count, format::ElementCount(tensor.dims));
  if (tensor.type == TensorType::INT64 && type.elem_type == ElementType::kInt32Q) {
    return NarrowedConstant(tensor, type, count);
  }
  QTX_ASSIGN_OR_RETURN(const std::int64_t bytes, format::PackedBytes(type.elem_type, count));
  if (bytes != static_cast<std::int64_t>(tensor.data.size())) {
    return Invalid("buffer of " + std::to_string(tensor.data.size()) + " bytes, expected " +
                   std::to_string(bytes) + " for " + std::string(format::Name(type.elem_type)) +
                   format::ToString(tensor.dims));
  }
  format::Tensor result{type.elem_type, tensor.dims, type.quantization, {}};
  result.bytes.assign(tensor.data.begin(), tensor.data.end());
  return result;
}

Result<std::vector<std::int64_t>> IntegersOf(const TfliteTensor& tensor) {
  if (!tensor.constant()) return Invalid("not a constant");
  format::TensorType type;
  QTX_ASSIGN_OR_RETURN(type.elem_type, StorageOf(tensor.type));
  if (type.elem_type != ElementType::kInt32 && type.elem_type != ElementType::kInt64) {
    return Invalid("element type " + std::string(format::Name(type.elem_type)) +
                   ", expected INT32 or INT64");
  }
  QTX_ASSIGN_OR_RETURN(const format::Tensor constant, ConstantOf(tensor, type));
  return format::UnpackIntegers(constant);
}

Result<void> NarrowTo(schema::ActivationFunctionType activation, format::TensorType& type) {
  using enum schema::ActivationFunctionType;
  if (activation == NONE) return {};
  if (activation != RELU && activation != RELU6 && activation != RELU_N1_TO_1) {
    const std::string name = schema::EnumNameActivationFunctionType(activation);
    return Unsupported("fused activation " +
                       (name.empty() ? std::to_string(static_cast<int>(activation)) : name));
  }
  format::Quantization& q = *type.quantization;
  const format::IntegerRange range = format::StorageRange(type.elem_type);
  const auto stored = [&](float bound) {
    // Clamped in double first: a tiny scale makes the quotient too large for an integer.
    const double steps = std::round(bound / q.scale[0]);
    const double value = static_cast<double>(format::OffsetAt(q, 0)) + steps;
    return static_cast<std::int64_t>(
        std::clamp(value, static_cast<double>(range.min), static_cast<double>(range.max)));
  };
  const std::int64_t low = stored(activation == RELU_N1_TO_1 ? -1.0F : 0.0F);
  if (low > range.min) q.quant_min = low;
  if (activation == RELU) return {};
  const std::int64_t high = stored(activation == RELU6 ? 6.0F : 1.0F);
  if (high < range.max) q.quant_max = high;
  return {};
}

}  // namespace qtx::convert
