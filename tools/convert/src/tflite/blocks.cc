// BlockwiseQuantization: the indices of two tensors that hold scales and zero points.
#include "errors.h"
#include "qtx/format/shape.h"
#include "tflite/types.h"

namespace qtx::convert {
namespace {

using format::ElementType;
using schema::TensorType;

Result<const TfliteTensor*> ParametersAt(std::span<const TfliteTensor> tensors, std::int32_t index,
                                         const char* field) {
  if (index < 0 || static_cast<std::size_t>(index) >= tensors.size()) {
    return Invalid("", std::string(field) + " of its blocks: tensor " + std::to_string(index) +
                           " of " + std::to_string(tensors.size()));
  }
  return &tensors[static_cast<std::size_t>(index)];
}

// The file's tensor of scales, as binary32, which holds every FLOAT16.
Result<std::vector<float>> ScalesIn(const TfliteTensor& source, std::int64_t count) {
  if (source.type != TensorType::FLOAT32 && source.type != TensorType::FLOAT16) {
    return Unsupported("scales of its blocks of type " +
                       std::string(schema::EnumNameTensorType(source.type)) +
                       ", expected FLOAT16 or FLOAT32");
  }
  format::TensorType type;
  type.elem_type = source.type == TensorType::FLOAT32 ? ElementType::kFloat : ElementType::kFloat16;
  QTX_ASSIGN_OR_RETURN(const format::Tensor tensor, ConstantOf(source, type));
  if (format::ElementCount(tensor) != count) {
    return Invalid("", "shape " + format::ToString(source.dims) + " of the scales of its blocks, " +
                           "expected " + std::to_string(count) + " of them");
  }
  const std::vector<double> scales = format::StoredValues(tensor);
  return std::vector<float>(scales.begin(), scales.end());
}

// Field ids of a flatbuffer cannot tell "none" from tensor 0, which then is no constant.
Result<std::vector<std::int32_t>> OffsetsIn(std::span<const TfliteTensor> tensors,
                                            std::int32_t index, std::size_t count,
                                            ElementType quantized) {
  if (index < 0 || (index == 0 && !tensors[0].constant())) return std::vector<std::int32_t>{};
  QTX_ASSIGN_OR_RETURN(const TfliteTensor* source, ParametersAt(tensors, index, "zero points"));
  QTX_ASSIGN_OR_RETURN(const std::vector<std::int64_t> points, IntegersOf(*source));
  return OffsetsOf(points, count, quantized);
}

}  // namespace

Result<format::Quantization> BlocksOf(const TfliteTensor& tensor,
                                      std::span<const TfliteTensor> tensors,
                                      ElementType quantized) {
  const auto& record = *tensor.quantization->details_as_BlockwiseQuantization();
  const std::int64_t block = record.block_size();
  const std::int64_t last = tensor.dims.empty() ? 0 : tensor.dims.back();
  if (block < 1 || last % block != 0 || last == 0) {
    return Invalid("", "blocks of " + std::to_string(block) + " along the last axis of shape " +
                           format::ToString(tensor.dims));
  }
  QTX_ASSIGN_OR_RETURN(const std::int64_t count, format::ElementCount(tensor.dims));
  QTX_ASSIGN_OR_RETURN(const TfliteTensor* scales,
                       ParametersAt(tensors, record.scales(), "scales"));
  format::Quantization q;
  QTX_ASSIGN_OR_RETURN(q.scale, ScalesIn(*scales, count / block));
  QTX_RETURN_IF_ERROR(CheckPositive(q.scale));
  QTX_ASSIGN_OR_RETURN(q.offset,
                       OffsetsIn(tensors, record.zero_points(), q.scale.size(), quantized));
  for (std::size_t axis = 0; axis < tensor.dims.size(); ++axis) {
    q.axis.push_back(static_cast<std::int64_t>(axis));
    q.block_shape.push_back(axis + 1 == tensor.dims.size() ? block : 1);
  }
  const bool is_signed = format::StorageRange(quantized).min < 0;
  q.scheme = tensor.constant() && is_signed && q.offset.empty() ? format::Scheme::kSymmetric
                                                                : format::Scheme::kAsymmetric;
  return q;
}

}  // namespace qtx::convert
