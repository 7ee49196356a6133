#include "caffe2/fill.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "caffe2/value_info.h"
#include "errors.h"

namespace qtx::convert {
namespace {

using format::Dims;
using format::ElementType;
using format::Tensor;

Result<Dims> ShapeOf(const Caffe2Operator& op) {
  const Caffe2Argument* shape = op.Find("shape");
  if (shape == nullptr) return Invalid("shape", "missing");
  QTX_RETURN_IF_ERROR(format::ElementCount(shape->ints));
  return shape->ints;
}

Result<void> CheckCount(const Dims& dims, std::size_t found) {
  std::int64_t expected = 1;
  for (const std::int64_t dim : dims) expected *= dim;
  if (static_cast<std::int64_t>(found) == expected) return {};
  return Invalid("values", "found " + std::to_string(found) + ", expected " +
                               std::to_string(expected) + " for shape " + format::ToString(dims));
}

const Caffe2Argument& Values(const Caffe2Operator& op) {
  static const Caffe2Argument kNone;
  const Caffe2Argument* values = op.Find("values");
  return values == nullptr ? kNone : *values;
}

template <typename T>
Tensor TensorOf(ElementType type, Dims dims, const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {type, std::move(dims), std::nullopt, {bytes.begin(), bytes.end()}};
}

Result<Tensor> Floats(const Caffe2Operator& op, const Dims& dims) {
  QTX_RETURN_IF_ERROR(CheckCount(dims, Values(op).floats.size()));
  return TensorOf(ElementType::kFloat, dims, Values(op).floats);
}

Result<std::vector<std::int32_t>> Int32s(const Caffe2Operator& op, const Dims& dims) {
  const auto& ints = Values(op).ints;
  QTX_RETURN_IF_ERROR(CheckCount(dims, ints.size()));
  std::vector<std::int32_t> values;
  for (const std::int64_t value : ints) {
    values.push_back(static_cast<std::int32_t>(value));
    if (values.back() != value)
      return Invalid("values", "found " + std::to_string(value) + ", expected 32 bits");
  }
  return values;
}

Result<Tensor> QuantizedBytes(const Caffe2Operator& op, const Dims& dims) {
  const std::string bytes = Values(op).s.value_or("");
  QTX_RETURN_IF_ERROR(CheckCount(dims, bytes.size()));
  Tensor tensor{ElementType::kInt8Q, dims, std::nullopt, {}};
  QTX_ASSIGN_OR_RETURN(tensor.quantization,
                       Caffe2Quantization(op.FloatOr("Y_scale", 1), op.IntOr("Y_zero_point", 0)));
  // Subtracts 128 in two's complement, by flipping the top bit.
  for (const char byte : bytes)
    tensor.bytes.push_back(std::byte{static_cast<unsigned char>(byte)} ^ std::byte{0x80});
  return tensor;
}

Result<Tensor> QuantizedInts(const Caffe2Operator& op, const Dims& dims) {
  QTX_ASSIGN_OR_RETURN(const std::vector<std::int32_t> values, Int32s(op, dims));
  Tensor tensor = TensorOf(ElementType::kInt32Q, dims, values);
  const float scale = op.FloatOr("Y_scale", 1);
  const std::int64_t zero_point = op.IntOr("Y_zero_point", 0);
  if (!std::isfinite(scale) || scale <= 0)
    return Invalid("Y_scale",
                   "found " + format::HexFloat(scale) + ", expected a finite value above 0");
  if (zero_point != static_cast<std::int32_t>(zero_point))
    return Invalid("Y_zero_point", "found " + std::to_string(zero_point) + ", expected 32 bits");
  tensor.quantization.emplace();
  tensor.quantization->scale = {scale};
  if (zero_point != 0) tensor.quantization->offset = {static_cast<std::int32_t>(zero_point)};
  return tensor;
}

// One string of bytes, or several that follow each other.
Result<Tensor> ByteStrings(const Caffe2Operator& op, const Dims& dims) {
  std::vector<unsigned char> bytes;
  for (const std::string& part : Values(op).strings)
    bytes.insert(bytes.end(), part.begin(), part.end());
  QTX_RETURN_IF_ERROR(CheckCount(dims, bytes.size()));
  return TensorOf(ElementType::kUint8, dims, bytes);
}

// One value everywhere: of dtype (caffe2.proto, TensorProto.DataType), FLOAT when not said.
Result<Tensor> Repeated(const Caffe2Operator& op, const Dims& dims, std::int64_t max_elements) {
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) count *= dim;
  if (count > max_elements)
    return Error{ErrorCode::kTooLarge, "shape", std::to_string(count) + " elements of one value"};
  const auto size = static_cast<std::size_t>(count);
  switch (op.IntOr("dtype", 1)) {
    case 1:
      return TensorOf(ElementType::kFloat, dims, std::vector<float>(size, op.FloatOr("value", 0)));
    case 2:
      return TensorOf(
          ElementType::kInt32, dims,
          std::vector<std::int32_t>(size, static_cast<std::int32_t>(op.IntOr("value", 0))));
    case 10:
      return TensorOf(ElementType::kInt64, dims,
                      std::vector<std::int64_t>(size, op.IntOr("value", 0)));
    default:
      return Error{ErrorCode::kUnsupported, "dtype",
                   "found " + std::to_string(op.IntOr("dtype", 1))};
  }
}

}  // namespace

bool IsFill(const Caffe2Operator& op) { return op.inputs.empty() && op.type.ends_with("Fill"); }

Result<Tensor> FillOf(const Caffe2Operator& op, std::int64_t max_elements) {
  QTX_ASSIGN_OR_RETURN(const Dims dims, ShapeOf(op));
  if (op.type == "Int8GivenTensorFill") return QuantizedBytes(op, dims);
  if (op.type == "Int8GivenIntTensorFill") return QuantizedInts(op, dims);
  if (op.type == "GivenTensorFill") return Floats(op, dims);
  if (op.type == "GivenTensorByteStringToUInt8Fill") return ByteStrings(op, dims);
  if (op.type == "ConstantFill") return Repeated(op, dims, max_elements);
  if (op.type == "GivenTensorIntFill") {
    QTX_ASSIGN_OR_RETURN(const auto values, Int32s(op, dims));
    return TensorOf(ElementType::kInt32, dims, values);
  }
  if (op.type == "GivenTensorInt64Fill") {
    QTX_RETURN_IF_ERROR(CheckCount(dims, Values(op).ints.size()));
    return TensorOf(ElementType::kInt64, dims, Values(op).ints);
  }
  return Error{ErrorCode::kUnsupported, "", "a fill operator whose result is not constant"};
}

}  // namespace qtx::convert
