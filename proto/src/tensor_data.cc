// TensorProtos: every carrier ONNX has for elements, decoded into packed bytes.
#include <cstring>
#include <filesystem>
#include <fstream>

#include "qtx/format/limits.h"
#include "qtx/format/model.h"
#include "wire.h"

namespace qtx::format {
namespace {

namespace fs = std::filesystem;

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

Result<std::int64_t> ParseCount(const std::string& text, const char* key) {
  std::int64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9' || value > kMaxTensorBytes) {
      return Error{ErrorCode::kInvalid, std::string("external_data.") + key,
                   "found '" + text.substr(0, 40) + "', expected a number of bytes"};
    }
    value = value * 10 + (c - '0');
  }
  return value;
}

// A location that cannot leave `folder`, neither by .. nor through a symbolic link.
Result<fs::path> ResolveLocation(const std::string& location, const std::string& folder) {
  const Error error{ErrorCode::kInvalid, "external_data.location",
                    "found '" + location + "', expected a relative path inside the model's folder"};
  std::error_code code;
  const fs::path root = fs::weakly_canonical(folder.empty() ? "." : folder, code);
  if (code || location.empty() || fs::path(location).is_absolute()) return error;
  const fs::path path = fs::weakly_canonical(root / location, code);
  if (code) return error;
  const auto [mismatch, unused] = std::mismatch(root.begin(), root.end(), path.begin(), path.end());
  if (mismatch != root.end()) return error;
  return path;
}

struct Region {
  fs::path path;
  std::int64_t offset = 0;
};

// Where `size` bytes of elements are, once it is known that the file has them.
Result<Region> LocateExternal(const wire::TensorFields& fields, const std::string& folder,
                              std::int64_t size) {
  std::string location;
  Region region;
  std::int64_t length = size;
  for (const auto& [key, value] : fields.external_data) {
    if (key == "location") location = value;
    if (key == "offset") {
      QTX_ASSIGN_OR_RETURN(region.offset, ParseCount(value, "offset"));
    }
    if (key == "length") {
      QTX_ASSIGN_OR_RETURN(length, ParseCount(value, "length"));
    }
  }
  if (length != size) return Mismatch("external_data.length", length, size, "bytes");
  QTX_ASSIGN_OR_RETURN(region.path, ResolveLocation(location, folder));
  std::error_code code;
  const auto available = static_cast<std::int64_t>(fs::file_size(region.path, code));
  if (code) return Error{ErrorCode::kIo, region.path.string(), code.message()};
  if (available - region.offset < size) {
    return Error{ErrorCode::kIo, region.path.string(),
                 "found " + std::to_string(available) + " bytes, expected " + std::to_string(size) +
                     " at " + std::to_string(region.offset)};
  }
  return region;
}

Result<void> ReadRegion(const Region& region, Tensor& tensor) {
  std::ifstream file(region.path, std::ios::binary);
  file.seekg(region.offset);
  file.read(reinterpret_cast<char*>(tensor.bytes.data()),
            static_cast<std::streamsize>(tensor.bytes.size()));
  if (!file) return Error{ErrorCode::kIo, region.path.string(), "cannot be read"};
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

Result<Tensor> Decode(const TensorData& data, const std::string& folder) {
  QTX_ASSIGN_OR_RETURN(const wire::TensorFields fields, wire::ParseTensor(data.wire));
  if (!ElementTypeFromCode(static_cast<std::int64_t>(fields.data_type)) ||
      IsQuantized(fields.data_type) || fields.data_type == ElementType::kBipolar1) {
    return Error{ErrorCode::kInvalid, "data_type",
                 "found " + std::to_string(static_cast<int>(fields.data_type)) +
                     ", expected an ONNX element type"};
  }
  if (fields.data_type == ElementType::kComplex64 || fields.data_type == ElementType::kComplex128) {
    return Error{ErrorCode::kUnsupported, "data_type", "found a complex type, expected a real one"};
  }
  // Before anything is allocated: neither a small model nor a small external file can ask for a
  // large tensor.
  QTX_ASSIGN_OR_RETURN(const std::int64_t count,
                       ElementCount(std::span<const std::int64_t>(fields.dims)));
  QTX_ASSIGN_OR_RETURN(const std::int64_t size, PackedBytes(fields.data_type, count));
  Region region;
  if (fields.external) {
    QTX_ASSIGN_OR_RETURN(region, LocateExternal(fields, folder, size));
  } else if (size / 8 >
             static_cast<std::int64_t>(data.wire.size())) {  // a varint byte carries an int64
    return Mismatch("data", static_cast<std::int64_t>(data.wire.size()), size, "bytes");
  }
  QTX_ASSIGN_OR_RETURN(Tensor tensor, MakeTensor(fields.data_type, fields.dims));
  if (fields.external) {
    QTX_RETURN_IF_ERROR(ReadRegion(region, tensor));
  } else {
    QTX_RETURN_IF_ERROR(CopyCarrier(fields, tensor));
  }
  ClearUnusedBits(tensor);
  return tensor;
}

}  // namespace qtx::format
