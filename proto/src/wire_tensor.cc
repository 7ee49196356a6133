#include "qtx/format/limits.h"
#include "qtx/overlay.pb.h"
#include "wire.h"
#include "wire_messages.h"

namespace qtx::format {
namespace {

Result<overlay::TensorProto> Parse(std::string_view bytes) {
  overlay::TensorProto message;
  if (bytes.size() >= static_cast<std::size_t>(kMaxModelBytes) ||
      !message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return Error{ErrorCode::kInvalid, "", "expected a serialised TensorProto"};
  }
  return message;
}

}  // namespace

namespace wire {

Result<TensorFields> ParseTensor(std::string_view bytes) {
  QTX_ASSIGN_OR_RETURN(overlay::TensorProto in, Parse(bytes));
  TensorFields fields;
  fields.dims = Vector(in.dims());
  fields.data_type = static_cast<ElementType>(in.data_type());
  if (in.has_raw_data()) fields.raw_data = std::move(*in.mutable_raw_data());
  fields.float_data = Vector(in.float_data());
  fields.int32_data = Vector(in.int32_data());
  fields.int64_data = Vector(in.int64_data());
  fields.double_data = Vector(in.double_data());
  fields.uint64_data = Vector(in.uint64_data());
  fields.external = in.data_location() == 1;
  for (const auto& entry : in.external_data()) {
    fields.external_data.emplace_back(entry.key(), entry.value());
  }
  return fields;
}

std::string SerializeTensor(const std::string& name, const Dims& dims, ElementType type,
                            std::string raw_data) {
  overlay::TensorProto out;
  Assign(dims, out.mutable_dims());
  out.set_data_type(static_cast<int>(type));
  out.set_name(name);
  out.set_raw_data(std::move(raw_data));
  return out.SerializeAsString();
}

std::string SerializeExternalTensor(const std::string& name, const Dims& dims, ElementType type,
                                    const Metadata& entries) {
  overlay::TensorProto out;
  Assign(dims, out.mutable_dims());
  out.set_data_type(static_cast<int>(type));
  out.set_name(name);
  for (const auto& [key, value] : entries) {
    auto* entry = out.add_external_data();
    entry->set_key(key);
    entry->set_value(value);
  }
  out.set_data_location(1);  // EXTERNAL
  return out.SerializeAsString();
}

}  // namespace wire

Result<TensorData> ParseTensorData(std::string_view bytes) {
  QTX_ASSIGN_OR_RETURN(const overlay::TensorProto in, Parse(bytes));
  return TensorData{.name = in.name(),
                    .data_type = static_cast<ElementType>(in.data_type()),
                    .dims = wire::Vector(in.dims()),
                    .wire = std::string(bytes)};
}

}  // namespace qtx::format
