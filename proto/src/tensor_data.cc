// TensorProtos: every carrier ONNX has for elements, decoded into packed bytes.
#include <cstring>

#include "carrier.h"
#include "external_data.h"
#include "qtx/format/external_elements.h"
#include "qtx/format/model.h"
#include "wire.h"

namespace qtx::format {
namespace {

Error Mismatch(const std::string& field, std::int64_t found, std::int64_t expected,
               const std::string& unit) {
  return {ErrorCode::kInvalid, field,
          "found " + std::to_string(found) + " " + unit + ", expected " + std::to_string(expected)};
}

template <typename T>
Result<void> CopyAll(const std::vector<T>& values, const char* field, Tensor& tensor) {
  if (values.size() * sizeof(T) != tensor.bytes.size()) {
    return Mismatch(field, static_cast<std::int64_t>(values.size()), ElementCount(tensor),
                    "values");
  }
  if (!values.empty()) std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  return {};
}

// int32_data holds types of up to 32 bits: one element each, the low bytes being its code, except
// that 4- and 2-bit types hold one packed byte each (onnx.proto, comment of int32_data).
Result<void> CopyInt32(const std::vector<std::int32_t>& values, Tensor& tensor) {
  const int width = std::max(BitWidth(tensor.elem_type), 8);
  const auto size = static_cast<std::size_t>(width / 8);
  if (values.size() * size != tensor.bytes.size()) {
    return Mismatch("int32_data", static_cast<std::int64_t>(values.size()),
                    static_cast<std::int64_t>(tensor.bytes.size() / size), "values");
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::memcpy(tensor.bytes.data() + i * size, &values[i], size);
  }
  return {};
}

// Writers may leave anything in the bits behind the last element; in memory they are zero.
void ClearUnusedBits(Tensor& tensor) {
  const auto used = static_cast<unsigned>(ElementCount(tensor) * BitWidth(tensor.elem_type) % 8);
  if (used != 0) tensor.bytes.back() &= static_cast<std::byte>((1U << used) - 1U);
}

Result<void> CopyCarrier(const wire::TensorFields& fields, Tensor& tensor) {
  if (fields.raw_data) {
    if (fields.raw_data->size() != tensor.bytes.size()) {
      return Mismatch("raw_data", static_cast<std::int64_t>(fields.raw_data->size()),
                      static_cast<std::int64_t>(tensor.bytes.size()), "bytes");
    }
    if (!tensor.bytes.empty()) {
      std::memcpy(tensor.bytes.data(), fields.raw_data->data(), tensor.bytes.size());
    }
    return {};
  }
  switch (tensor.elem_type) {
    case ElementType::kFloat:
      return CopyAll(fields.float_data, "float_data", tensor);
    case ElementType::kDouble:
      return CopyAll(fields.double_data, "double_data", tensor);
    case ElementType::kInt64:
      return CopyAll(fields.int64_data, "int64_data", tensor);
    case ElementType::kUint64:
      return CopyAll(fields.uint64_data, "uint64_data", tensor);
    case ElementType::kUint32: {
      const std::vector<std::uint32_t> values(fields.uint64_data.begin(), fields.uint64_data.end());
      return CopyAll(values, "uint64_data", tensor);
    }
    default:
      return CopyInt32(fields.int32_data, tensor);
  }
}

}  // namespace

TensorData ToTensorData(std::string name, const Tensor& tensor) {
  const bool bipolar = StorageOf(tensor.elem_type) == ElementType::kBipolar1;
  const ElementType storage = bipolar ? ElementType::kUint8 : StorageOf(tensor.elem_type);
  Dims dims = bipolar ? Dims{static_cast<std::int64_t>(tensor.bytes.size())} : tensor.dims;
  std::string raw(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
  std::string wire = wire::SerializeTensor(name, dims, storage, std::move(raw));
  return {.name = std::move(name),
          .data_type = storage,
          .dims = std::move(dims),
          .wire = std::move(wire)};
}

namespace {

// What a TensorProto says, once it is known that the elements are there and as many as its shape
// asks for: before anything is allocated, so that neither a small model nor a small external file
// can ask for a large tensor.
struct Carrier {
  wire::TensorFields fields;
  std::optional<FileRange> range;  // of elements in a file
};

Result<void> CheckDataType(ElementType type) {
  if (!ElementTypeFromCode(static_cast<std::int64_t>(type)) || IsQuantized(type) ||
      type == ElementType::kBipolar1) {
    return Error{
        ErrorCode::kInvalid, "data_type",
        "found " + std::to_string(static_cast<int>(type)) + ", expected an ONNX element type"};
  }
  if (type == ElementType::kComplex64 || type == ElementType::kComplex128) {
    return Error{ErrorCode::kUnsupported, "data_type", "found a complex type, expected a real one"};
  }
  return {};
}

Result<Carrier> FindCarrier(const TensorData& data, const std::string& folder) {
  Carrier carrier;
  QTX_ASSIGN_OR_RETURN(carrier.fields, wire::ParseTensor(data.wire));
  const wire::TensorFields& fields = carrier.fields;
  QTX_RETURN_IF_ERROR(CheckDataType(fields.data_type));
  QTX_ASSIGN_OR_RETURN(const std::int64_t count,
                       ElementCount(std::span<const std::int64_t>(fields.dims)));
  QTX_ASSIGN_OR_RETURN(const std::int64_t size, PackedBytes(fields.data_type, count));
  if (fields.external) {
    QTX_ASSIGN_OR_RETURN(carrier.range, LocateExternal(fields.external_data, folder, size));
  } else if (data.raw_data) {
    if (data.raw_data->size != size)
      return Mismatch("raw_data", data.raw_data->size, size, "bytes");
    carrier.range = data.raw_data;
  } else if (size / 8 > static_cast<std::int64_t>(data.wire.size())) {
    return Mismatch("data", static_cast<std::int64_t>(data.wire.size()), size,
                    "bytes");  // a varint byte carries an int64
  }
  return carrier;
}

}  // namespace

Result<void> CheckCarrier(const TensorData& data, const std::string& folder) {
  QTX_ASSIGN_OR_RETURN(const Carrier carrier, FindCarrier(data, folder));
  if (carrier.range) return {};
  QTX_ASSIGN_OR_RETURN(Tensor tensor, MakeTensor(carrier.fields.data_type, carrier.fields.dims));
  return CopyCarrier(carrier.fields, tensor);
}

Result<std::variant<FileRange, Tensor>> FindElements(const TensorData& data,
                                                     const std::string& folder) {
  QTX_ASSIGN_OR_RETURN(const Carrier carrier, FindCarrier(data, folder));
  if (carrier.range) return std::variant<FileRange, Tensor>(*carrier.range);
  QTX_ASSIGN_OR_RETURN(Tensor tensor, MakeTensor(carrier.fields.data_type, carrier.fields.dims));
  QTX_RETURN_IF_ERROR(CopyCarrier(carrier.fields, tensor));
  ClearUnusedBits(tensor);
  return std::variant<FileRange, Tensor>(std::move(tensor));
}

Result<Tensor> Decode(const TensorData& data, const std::string& folder) {
  QTX_ASSIGN_OR_RETURN(const Carrier carrier, FindCarrier(data, folder));
  QTX_ASSIGN_OR_RETURN(Tensor tensor, MakeTensor(carrier.fields.data_type, carrier.fields.dims));
  QTX_RETURN_IF_ERROR(carrier.range ? ReadRange(*carrier.range, 0, tensor.bytes)
                                    : CopyCarrier(carrier.fields, tensor));
  ClearUnusedBits(tensor);
  return tensor;
}

TensorData ToExternalData(std::string name, ElementType storage, Dims dims,
                          const std::string& location, std::int64_t offset, std::int64_t length) {
  std::string wire = wire::SerializeExternalTensor(name, dims, storage,
                                                   {{"location", location},
                                                    {"offset", std::to_string(offset)},
                                                    {"length", std::to_string(length)}});
  return {.name = std::move(name),
          .data_type = storage,
          .dims = std::move(dims),
          .wire = std::move(wire)};
}

Result<std::optional<FileRange>> RangeOfElements(const TensorData& data,
                                                 const std::string& folder) {
  QTX_ASSIGN_OR_RETURN(Carrier carrier, FindCarrier(data, folder));
  return std::move(carrier.range);
}

}  // namespace qtx::format
