#include "ops/linear.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

using format::AttributeType;

Result<void> CheckOpset(const format::Node& node) {
  if (node.IntOr("opset", 0) >= 1) return {};
  return Error{ErrorCode::kInvalid, "attribute 'opset'",
               "expected the version of Softmax, 1 or more"};
}

// Softmax of the version that `opset` names.  Source: q_linear_softmax.S1, q_linear_softmax.S2.
Result<format::Tensor> QLinearSoftmax(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const ExtendedCall typed, UnaryCall(call));
  return typed.Run(kSoftmax.run, call.node.IntOr("opset", 0));
}

constexpr AttributeRule kQLinearSoftmaxAttributes[] = {{"axis", AttributeType::kInt},
                                                       {"opset", AttributeType::kInt}};

}  // namespace

const Operator kQLinearSoftmax = {.op_type = "QLinearSoftmax",
                                  .domain = kMicrosoft,
                                  .min_inputs = 5,
                                  .max_inputs = 5,
                                  .optional_inputs = kUnaryZeroPoints,
                                  .attributes = kQLinearSoftmaxAttributes,
                                  .check = CheckOpset,
                                  .run = QLinearSoftmax};

}  // namespace qtx::reference::ops
