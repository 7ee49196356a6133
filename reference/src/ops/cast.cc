#include "ops/common.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

using format::AttributeType;

Result<void> CheckTo(const format::Node& node) {
  const format::Attribute* to = node.Find("to");
  if (to == nullptr || !format::ElementTypeFromCode(to->i)) {
    return Error{ErrorCode::kInvalid, "attribute 'to'", "expected the code of an element type"};
  }
  return CheckSaturate(node);
}

// Quantize, dequantize or requantize, explicitly.  Source: cast.S1 to cast.S4, tflite.S9.
Result<format::Tensor> Cast(const Call& call) {
  const auto to = static_cast<format::ElementType>(call.node.IntOr("to", 0));
  if (to != call.outputs[0].elem_type) {
    return Error{ErrorCode::kInvalid, "attribute 'to'",
                 "found " + std::string(format::Name(to)) + ", expected the output's type " +
                     std::string(format::Name(call.outputs[0].elem_type))};
  }
  QTX_ASSIGN_OR_RETURN(const Operand x, OperandAt(call, 0));
  return ConvertAll(call, x);
}

constexpr AttributeRule kAttributes[] = {{"saturate", AttributeType::kInt},
                                         {"to", AttributeType::kInt}};

format::ElementType InferType(const format::Node& node, std::span<const format::ElementType>,
                              std::size_t) {
  return static_cast<format::ElementType>(node.IntOr("to", 0));
}

}  // namespace

const Operator kCast = {.op_type = "Cast",
                        .min_inputs = 1,
                        .max_inputs = 1,
                        .attributes = kAttributes,
                        .check = CheckTo,
                        .infer = InferType,
                        .run = Cast};

}  // namespace qtx::reference::ops
