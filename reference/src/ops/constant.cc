#include <cstring>

#include "ops/common.h"
#include "ops/registry.h"
#include "parameters.h"

namespace qtx::reference::ops {
namespace {

using format::Attribute;
using format::AttributeType;
using format::ElementType;

template <typename T>
Result<format::Tensor> FromValues(ElementType type, format::Dims dims, const T* values) {
  QTX_ASSIGN_OR_RETURN(format::Tensor tensor, format::MakeTensor(type, std::move(dims)));
  if (!tensor.bytes.empty()) std::memcpy(tensor.bytes.data(), values, tensor.bytes.size());
  return tensor;
}

Result<format::Tensor> ValueOf(const Attribute& attribute) {
  if (attribute.name == "value" && attribute.t) return format::Decode(*attribute.t);
  const auto count = [](const auto& values) { return static_cast<std::int64_t>(values.size()); };
  switch (attribute.type) {
    case AttributeType::kFloat:
      return FromValues(ElementType::kFloat, {}, &attribute.f);
    case AttributeType::kInt:
      return FromValues(ElementType::kInt64, {}, &attribute.i);
    case AttributeType::kFloats:
      return FromValues(ElementType::kFloat, {count(attribute.floats)}, attribute.floats.data());
    default:
      return FromValues(ElementType::kInt64, {count(attribute.ints)}, attribute.ints.data());
  }
}

// The tensor in the node's one attribute.  Source: constant.S1 (ONNX Constant-13).
Result<format::Tensor> Constant(const Call& call) {
  QTX_ASSIGN_OR_RETURN(format::Tensor value, ValueOf(call.node.attributes[0]));
  if (value.elem_type == call.outputs[0].elem_type) return value;
  value.elem_type = call.outputs[0].elem_type;  // as an initializer
  value.quantization = call.outputs[0].quantization;
  QTX_RETURN_IF_ERROR(CheckParameters(value.elem_type, *value.quantization, value.dims));
  return value;
}

}  // namespace

const Operator kConstant = {.op_type = "Constant", .run = Constant};

}  // namespace qtx::reference::ops
