#include "qonnx/export_types.h"

#include <algorithm>

#include "errors.h"
#include "qonnx/constant.h"

namespace qtx::convert {
namespace {

using format::Dims;
using format::ElementType;
using format::Quantization;
using format::Tensor;
using format::TensorType;

// Parameters with a dimension for each of the value's. Those along ascending axes are row-major.
Tensor Broadcast(const TensorType& type, std::span<const float> values) {
  const Quantization& q = *type.quantization;
  const auto bytes = std::as_bytes(values);
  Tensor tensor{ElementType::kFloat, {}, std::nullopt, {bytes.begin(), bytes.end()}};
  if (values.size() == 1) return tensor;
  tensor.dims.assign(type.shape->size(), 1);
  for (const std::int64_t axis : q.axis) {
    const auto at = static_cast<std::size_t>(axis);
    tensor.dims[at] = *(*type.shape)[at].value;
  }
  return tensor;
}

}  // namespace

std::optional<QonnxWidth> WidthOf(const format::IntegerRange& range) {
  for (std::int64_t bits = 1; bits <= 32; ++bits) {
    const std::int64_t values = std::int64_t{1} << bits;
    for (const std::int64_t narrow : {0, 1}) {
      if (range.min == 0 && range.max == values - 1 - narrow)
        return QonnxWidth{bits, false, narrow != 0};
      if (bits > 1 && range.min == -values / 2 + narrow && range.max == values / 2 - 1)
        return QonnxWidth{bits, true, narrow != 0};
    }
  }
  return std::nullopt;
}

QonnxWidth FullWidth(ElementType type) {
  return {format::BitWidth(type), format::StorageRange(type).min < 0, false};
}

Result<void> CheckSayable(const TensorType& type) {
  const Quantization& q = *type.quantization;
  if (format::IsSmallFloat(type.elem_type)) return Unsupported("Quant has no small floats");
  if (std::ranges::any_of(q.block_shape, [](std::int64_t block) { return block > 1; }))
    return Unsupported("Quant has no blocks");
  if (q.scale.empty()) return Unsupported("Quant has no scales of an axis of size 0");
  if (q.scale.size() == 1) return {};
  if (!std::ranges::is_sorted(q.axis)) return Unsupported("axes that do not ascend");
  for (const std::int64_t axis : q.axis) {
    const auto at = static_cast<std::size_t>(axis);
    if (!type.shape || at >= type.shape->size() || !(*type.shape)[at].value)
      return Unsupported("axis " + std::to_string(axis) + " of an unknown size");
  }
  return {};
}

Tensor QonnxScale(const TensorType& type) { return Broadcast(type, type.quantization->scale); }

Result<Tensor> QonnxZeroPoint(const TensorType& type) {
  const Quantization& q = *type.quantization;
  std::vector<float> values;
  for (const std::int32_t offset : q.offset) {
    values.push_back(static_cast<float>(offset));
    if (static_cast<double>(values.back()) != offset)
      return Unsupported("offset " + std::to_string(offset) + " is not a binary32");
  }
  if (values.empty()) values.push_back(0);
  return Broadcast(type, values);
}

Result<Tensor> RealsOf(const Tensor& stored) {
  const Quantization& q = *stored.quantization;
  QTX_ASSIGN_OR_RETURN(Tensor real, format::MakeTensor(ElementType::kFloat, stored.dims));
  const std::vector<std::int64_t> integers = format::UnpackIntegers(stored);
  const format::ParameterMap map(q, stored.dims);
  for (std::size_t i = 0; i < integers.size(); ++i) {
    const std::int64_t parameter = map(static_cast<std::int64_t>(i));
    const auto steps = static_cast<double>(integers[i] - format::OffsetAt(q, parameter));
    real.As<float>()[i] =
        static_cast<float>(static_cast<double>(format::ScaleAt(q, parameter)) * steps);
  }
  const QonnxQuantizer quantizer{.elem_type = stored.elem_type, .quantization = q};
  QTX_ASSIGN_OR_RETURN(const QuantizedConstant back, QuantizeConstant(real, quantizer));
  if (back.tensor.bytes != stored.bytes)
    return Unsupported("its reals in binary32 do not determine its stored integers");
  return real;
}

}  // namespace qtx::convert
