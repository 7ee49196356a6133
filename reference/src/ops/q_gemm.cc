#include "ops/linear.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

using format::AttributeType;
using format::ElementType;

// Gemm of A, B and C, each with its parameters.  Source: q_gemm.S1 to .S5.
Result<format::Tensor> QGemm(const Call& call) {
  const bool transposed = call.node.IntOr("transB", 0) != 0;
  const bool quantizes = call.Input(7) != nullptr;
  if (!quantizes && call.outputs[0].elem_type != ElementType::kFloat) {
    return Error{ErrorCode::kInvalid, "output[0]",
                 "found type " + std::string(format::Name(call.outputs[0].elem_type)) +
                     ", expected FLOAT without y_scale"};
  }
  ExtendedCall gemm(call);
  QTX_RETURN_IF_ERROR(gemm.Add(0, {1, 2}));
  QTX_RETURN_IF_ERROR(gemm.Add(3, {4, 5}, {ParameterShape::Kind::kAxis, transposed ? 0 : 1}));
  QTX_RETURN_IF_ERROR(CheckBias(call, 6));
  gemm.AddPlain(6);
  if (quantizes) QTX_RETURN_IF_ERROR(gemm.SetOutput({7, 8}));
  return gemm.Run(kGemm.run);
}

constexpr AttributeRule kQGemmAttributes[] = {{"alpha", AttributeType::kFloat},
                                              {"transA", AttributeType::kInt},
                                              {"transB", AttributeType::kInt}};

ElementType InferQGemmType(const format::Node&, std::span<const ElementType> inputs, std::size_t) {
  const bool typed = inputs.size() > 8 && inputs[8] != ElementType::kUndefined;
  return typed ? inputs[8] : ElementType::kFloat;
}

}  // namespace

const Operator kQGemm = {.op_type = "QGemm",
                         .domain = kMicrosoft,
                         .min_inputs = 6,
                         .max_inputs = 9,
                         .attributes = kQGemmAttributes,
                         .check = kGemm.check,
                         .infer = InferQGemmType,
                         .run = QGemm};

}  // namespace qtx::reference::ops
