// Conversions of single messages, shared by wire.cc and wire_type.cc.
#pragma once

#include <google/protobuf/repeated_field.h>

#include <string>
#include <vector>

#include "qtx/format/tensor_type.h"
#include "qtx/overlay.pb.h"

namespace qtx::format::wire {

TensorType ReadTensorType(const overlay::TypeProto::Tensor& in);
void WriteTensorType(const TensorType& type, overlay::TypeProto::Tensor& out);

template <typename T>
std::vector<T> Vector(const google::protobuf::RepeatedField<T>& field) {
  return {field.begin(), field.end()};
}
inline std::vector<std::string> Vector(
    const google::protobuf::RepeatedPtrField<std::string>& field) {
  return {field.begin(), field.end()};
}
template <typename T>
void Assign(const std::vector<T>& values, google::protobuf::RepeatedField<T>* field) {
  field->Assign(values.begin(), values.end());
}

}  // namespace qtx::format::wire
