#include "ops/linear.h"

#include <cmath>

namespace qtx::reference {
namespace {

using format::Dims;
using format::ElementType;

// A scale of half precision is a binary32 as well.
Result<void> ReadScale(const Call& call, format::Quantization* q) {
  const format::Tensor& scale = *call.inputs[1];
  if (!IsScaleType(scale.elem_type)) {
    return Error{ErrorCode::kInvalid, InputName(call, 1),
                 "found type " + std::string(format::Name(scale.elem_type)) +
                     ", expected FLOAT, FLOAT16 or BFLOAT16"};
  }
  for (const double value : format::StoredValues(scale)) {
    q->scale.push_back(static_cast<float>(value));
  }
  for (std::size_t i = 0; i < q->scale.size(); ++i) {
    if (!(q->scale[i] > 0) || !std::isfinite(q->scale[i])) {
      return Error{ErrorCode::kInvalid, InputName(call, 1) + "[" + std::to_string(i) + "]",
                   "a scale must be finite and greater than 0"};
    }
  }
  return {};
}

// A vector of one element serves as a scalar, as the models of ONNX's own tests have it.
bool SameLayout(const Dims& scale, const Dims& zero) {
  const auto single = [](const Dims& dims) { return dims.empty() || dims == Dims{1}; };
  return scale == zero || (single(scale) && single(zero));
}

// Source: quantize_linear.C3, dequantize_linear.C3.
Result<void> ReadZeroPoint(const Call& call, ElementType storage, format::Quantization* q) {
  const format::Tensor* zero = call.Input(2);
  if (zero == nullptr) return {};
  if (zero->elem_type != storage || !SameLayout(call.inputs[1]->dims, zero->dims)) {
    return Error{ErrorCode::kInvalid, InputName(call, 2),
                 "found " + std::string(format::Name(zero->elem_type)) +
                     format::ToString(zero->dims) + ", expected " +
                     std::string(format::Name(storage)) + format::ToString(call.inputs[1]->dims)};
  }
  if (format::IsIntegerStorage(storage)) {
    q->offset = format::UnpackInt32(*zero);
    return {};
  }
  for (const double value : format::StoredValues(*zero)) {
    if (value != 0) return Error{ErrorCode::kInvalid, InputName(call, 2), "must be 0"};
  }
  return {};
}

// Scalar: per tensor.  Rank 1: per axis.  The rank of x: blocks along the axis (ONNX opset 21).
Result<void> ReadAxes(const Call& call, const Dims& dims, format::Quantization* q) {
  const Dims& scale = call.inputs[1]->dims;
  const std::int64_t block = call.node.IntOr("block_size", 0);
  if (q->scale.size() == 1 && block == 0) return {};
  const auto rank = static_cast<std::int64_t>(dims.size());
  const auto axis = format::NormalizeAxis(call.node.IntOr("axis", 1), rank);
  if (!axis.has_value()) return At("attribute 'axis'", axis.error());
  if (block == 0) {
    q->axis = {*axis};
  } else {
    for (std::int64_t i = 0; i < rank; ++i) q->axis.push_back(i);
    q->block_shape.assign(dims.size(), 1);
    q->block_shape[static_cast<std::size_t>(*axis)] = block;
  }
  auto expected = format::ParameterDims(*q, dims);
  if (!expected.has_value()) return At("attribute 'block_size'", std::move(expected).error());
  if (scale == *expected) return {};
  return Error{
      ErrorCode::kInvalid, InputName(call, 1),
      "found shape " + format::ToString(scale) + ", expected " + format::ToString(*expected)};
}

}  // namespace

bool IsScaleType(ElementType type) {
  return type == ElementType::kFloat || type == ElementType::kFloat16 ||
         type == ElementType::kBfloat16;
}

Result<format::Quantization> LinearParameters(const Call& call, const Dims& dims,
                                              ElementType storage) {
  if (call.Input(1) == nullptr) return Error{ErrorCode::kInvalid, "input[1]", "is required"};
  format::Quantization q;
  QTX_RETURN_IF_ERROR(ReadScale(call, &q));
  QTX_RETURN_IF_ERROR(ReadZeroPoint(call, storage, &q));
  QTX_RETURN_IF_ERROR(ReadAxes(call, dims, &q));
  return q;
}

}  // namespace qtx::reference
