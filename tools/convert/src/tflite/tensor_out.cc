#include "tflite/tensor_out.h"

#include <algorithm>
#include <array>
#include <limits>

#include "errors.h"
#include "qtx/format/levels.h"

namespace qtx::convert {
namespace {

using format::ElementType;
using schema::TensorType;

struct TypePair {
  ElementType ours;
  TensorType theirs;
};

constexpr std::array kTypes = {
    TypePair{ElementType::kFloat, TensorType::FLOAT32},
    TypePair{ElementType::kFloat16, TensorType::FLOAT16},
    TypePair{ElementType::kBfloat16, TensorType::BFLOAT16},
    TypePair{ElementType::kDouble, TensorType::FLOAT64},
    TypePair{ElementType::kInt64, TensorType::INT64},
    TypePair{ElementType::kInt32, TensorType::INT32},
    TypePair{ElementType::kUint32, TensorType::UINT32},
    TypePair{ElementType::kInt16, TensorType::INT16},
    TypePair{ElementType::kUint16, TensorType::UINT16},
    TypePair{ElementType::kInt8, TensorType::INT8},
    TypePair{ElementType::kUint8, TensorType::UINT8},
    TypePair{ElementType::kInt4, TensorType::INT4},
    TypePair{ElementType::kUint4, TensorType::UINT4},
    TypePair{ElementType::kInt2, TensorType::INT2},
    TypePair{ElementType::kBool, TensorType::BOOL},
};

Result<TensorType> TypeFor(ElementType elem_type) {
  const ElementType storage = format::StorageOf(elem_type);
  const auto* found = std::ranges::find(kTypes, storage, &TypePair::ours);
  // BIPOLAR1Q is stored as bits, which TFLite would misread.
  if (found == kTypes.end() || elem_type == ElementType::kBipolar1Q) {
    return Unsupported("TFLite has no type " + std::string(format::Name(elem_type)));
  }
  return found->theirs;
}

Result<std::vector<std::int32_t>> ShapeOf(const format::TensorType& type) {
  if (!type.shape) return Unsupported("its rank is unknown");
  const auto dims = format::FixedDims(*type.shape);
  if (!dims) return Unsupported("a size that varies; TFLite's shape has numbers");
  std::vector<std::int32_t> shape;
  for (const std::int64_t dim : *dims) {
    if (dim > std::numeric_limits<std::int32_t>::max()) return Unsupported("a size above 32 bits");
    shape.push_back(static_cast<std::int32_t>(dim));
  }
  return shape;
}

Result<void> SetScales(const format::Quantization& q, schema::QuantizationParametersT& to) {
  if (q.axis.size() > 1) return Unsupported("scales along several axes");
  if (std::ranges::any_of(q.block_shape, [](std::int64_t block) { return block != 1; })) {
    return Unsupported("scales of blocks");
  }
  to.scale = q.scale;
  for (std::size_t i = 0; i < q.scale.size(); ++i) {
    to.zero_point.push_back(format::OffsetAt(q, static_cast<std::int64_t>(i)));
  }
  if (!q.axis.empty()) to.quantized_dimension = static_cast<std::int32_t>(q.axis[0]);
  return {};
}

}  // namespace

Permutation Inverse(const Permutation& perm) {
  Permutation inverse(perm.size());
  for (std::size_t i = 0; i < perm.size(); ++i) {
    inverse[static_cast<std::size_t>(perm[i])] = static_cast<std::int64_t>(i);
  }
  return inverse;
}

Result<void> SetTensorType(const format::TensorType& type, schema::TensorT& tensor) {
  QTX_ASSIGN_OR_RETURN(tensor.type, TypeFor(type.elem_type));
  QTX_ASSIGN_OR_RETURN(tensor.shape, ShapeOf(type));
  tensor.quantization = nullptr;
  // An annotation does not make a FLOAT value quantized.
  const bool quantized = type.quantization && type.elem_type != ElementType::kFloat;
  if (!quantized && !type.statistics) return {};
  auto parameters = std::make_unique<schema::QuantizationParametersT>();
  if (quantized) QTX_RETURN_IF_ERROR(SetScales(*type.quantization, *parameters));
  if (type.statistics && type.statistics->axis.size() <= 1) {
    for (const double min : type.statistics->min) {
      parameters->min.push_back(static_cast<float>(min));
    }
    for (const double max : type.statistics->max) {
      parameters->max.push_back(static_cast<float>(max));
    }
    if (!type.statistics->axis.empty() && parameters->scale.size() < 2) {
      parameters->quantized_dimension = static_cast<std::int32_t>(type.statistics->axis[0]);
    }
  }
  tensor.quantization = std::move(parameters);
  return {};
}

Result<std::vector<std::uint8_t>> BufferBytes(const format::Tensor& tensor, TensorType type) {
  if (type == TensorType::INT64 && tensor.elem_type == ElementType::kInt32Q) {
    const std::vector<std::int64_t> wide = format::UnpackIntegers(tensor);
    const auto bytes = std::as_bytes(std::span(wide));
    const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
    return std::vector<std::uint8_t>(data, data + bytes.size());
  }
  QTX_ASSIGN_OR_RETURN(const TensorType own, TypeFor(tensor.elem_type));
  if (own != type) {
    return Unsupported(std::string(format::Name(tensor.elem_type)) + " for a tensor of " +
                       schema::EnumNameTensorType(type));
  }
  const auto* data = reinterpret_cast<const std::uint8_t*>(tensor.bytes.data());
  return std::vector<std::uint8_t>(data, data + tensor.bytes.size());
}

Result<format::TensorType> TypeIn(const format::ModelView& model, const std::string& name) {
  const format::ValueInfo* info = model.FindValue(name);
  if (info != nullptr && info->type) {
    format::TensorType type = *info->type;
    if (type.quantization) {
      QTX_ASSIGN_OR_RETURN(type.quantization, format::Resolve(model, type, name));
      if (format::HasBase(*type.quantization)) {
        return Error{ErrorCode::kUnsupported, "'" + name + "'", "base_levels: TFLite has no base"};
      }
      if (!format::HasIntegerForm(*type.quantization)) {
        return Error{ErrorCode::kUnsupported, "'" + name + "'",
                     "TFLite has no code book and no scale of 0 or below"};
      }
    }
    return type;
  }
  const format::TensorData* data = model.FindInitializer(name);
  if (data == nullptr) {
    return Error{ErrorCode::kInvalid, "'" + name + "'", "the graph does not declare its type"};
  }
  format::TensorType type;
  type.elem_type = data->data_type;
  type.shape = format::ToShape(data->dims);
  return type;
}

Result<format::Tensor> FloatOf(const format::Tensor& constant) {
  const format::Quantization& q = *constant.quantization;
  if (format::HasLevels(q) || format::HasCodeBook(q))
    return Unsupported("", "levels or a code book");
  QTX_ASSIGN_OR_RETURN(format::Tensor result,
                       format::MakeTensor(format::ElementType::kFloat, constant.dims));
  const std::vector<double> stored = format::StoredValues(constant);
  const format::ParameterMap map(q, constant.dims);
  const std::span<float> values = result.As<float>();
  for (std::size_t i = 0; i < stored.size(); ++i) {
    const std::int64_t at = map(static_cast<std::int64_t>(i));
    // 33 bits by 24: exact in the 64 of a long double.
    values[i] = static_cast<float>(static_cast<long double>(stored[i] - format::OffsetAt(q, at)) *
                                   static_cast<long double>(format::ScaleAt(q, at)));
  }
  return result;
}

}  // namespace qtx::convert
