#include "ops/linear.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

using format::AttributeType;
using format::ElementType;

// The type of the result: the zero point's, or output_dtype, or UINT8.  Source: quantize_linear.S3.
ElementType StorageFor(const Call& call) {
  if (call.Input(2) != nullptr) return call.Input(2)->elem_type;
  const auto declared = format::ElementTypeFromCode(call.node.IntOr("output_dtype", 0));
  return declared && *declared != ElementType::kUndefined ? *declared : ElementType::kUint8;
}

Result<void> CheckAttributes(const format::Node& node) {
  const std::int64_t precision = node.IntOr("precision", 0);
  if (precision != 0 && precision != static_cast<std::int64_t>(ElementType::kFloat)) {
    return Error{ErrorCode::kUnsupported, "attribute 'precision'",
                 "found " + std::to_string(precision) + ", expected 1, FLOAT"};
  }
  return CheckSaturate(node);
}

// Real, or INT32.  Source: quantize_linear.C1.
Result<Operand> OperandOf(const Call& call) {
  if (call.inputs[0]->elem_type == ElementType::kInt32) return Operand::Make(*call.inputs[0]);
  return OperandAt(call, 0);
}

// Source: quantize_linear.S1 to .S4.
Result<format::Tensor> QuantizeLinear(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Operand x, OperandOf(call));
  const ElementType storage = StorageFor(call);
  const std::optional<ElementType> quantized = format::QuantizedOf(storage);
  if (!quantized || storage != call.outputs[0].elem_type || x.tensor().quantization) {
    return Error{ErrorCode::kInvalid, "output[0]",
                 "found type " + std::string(format::Name(call.outputs[0].elem_type)) +
                     ", expected " + std::string(format::Name(storage)) + " from a float or INT32"};
  }
  QTX_ASSIGN_OR_RETURN(format::Quantization parameters,
                       LinearParameters(call, x.tensor().dims, storage));
  const OutputType type{*quantized, std::move(parameters)};
  Call typed = call;
  typed.outputs = {&type, 1};
  QTX_ASSIGN_OR_RETURN(format::Tensor result, ConvertAll(typed, x));
  result.elem_type = storage;  // the parameters stay inputs: the result is a plain integer tensor
  result.quantization.reset();
  return result;
}

constexpr AttributeRule kAttributes[] = {
    {"axis", AttributeType::kInt},         {"block_size", AttributeType::kInt},
    {"output_dtype", AttributeType::kInt}, {"precision", AttributeType::kInt},
    {"saturate", AttributeType::kInt},
};

ElementType InferType(const format::Node& node, std::span<const ElementType> inputs, std::size_t) {
  if (inputs.size() > 2 && inputs[2] != ElementType::kUndefined) return inputs[2];
  const auto named = static_cast<ElementType>(node.IntOr("output_dtype", 0));
  return named != ElementType::kUndefined ? named : ElementType::kUint8;
}

}  // namespace

const Operator kQuantizeLinear = {.op_type = "QuantizeLinear",
                                  .min_inputs = 2,
                                  .max_inputs = 3,
                                  .attributes = kAttributes,
                                  .check = CheckAttributes,
                                  .infer = InferType,
                                  .run = QuantizeLinear};

}  // namespace qtx::reference::ops
