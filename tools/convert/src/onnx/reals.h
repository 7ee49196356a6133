// Which values of a graph are reals, that is quantized or FLOAT.
#pragma once

#include "qtx/format/model.h"

namespace qtx::convert {

/// Declares undeclared results of quantized values: FLOAT, as in stock ONNX, except that a
/// transposed quantized initializer keeps its type. Results with another type (indices, conditions,
/// Cast) and those of operators outside ONNX's domain stay undeclared.
void DeclareReals(format::Graph& graph);

/// Refuses combinations of operand types that no arithmetic has.
/// Errors: kUnsupported for FLOAT16 or BFLOAT16 beside a quantized value; kInvalid for a Conv, Gemm
/// or MatMul of plain integers and another type (conv.C1, gemm.C1, mat_mul.C1). `where` names node
/// and value.
Result<void> CheckOperands(const format::Graph& graph);

/// Refuses a node with a quantized output whose attribute holds stored values, not reals before a
/// QuantizeLinear: ConstantOfShape (constant_of_shape.S2).  Errors: kUnsupported.
Result<void> CheckComputesReals(const format::Node& node);

}  // namespace qtx::convert
