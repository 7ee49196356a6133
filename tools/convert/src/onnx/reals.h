// Which values of a graph are reals: quantized, or FLOAT.
#pragma once

#include "qtx/format/model.h"

namespace qtx::convert {

/// Declares what nodes make of quantized values, where the graph does not: FLOAT, as it was in
/// stock ONNX, but for a transposed quantized initializer, which keeps its integers. Results that
/// the operator gives another type (indices, conditions, what Cast says) stay undeclared, and those
/// of operators outside ONNX's domain.
void DeclareReals(format::Graph& graph);

/// Refuses operands that no arithmetic has together.
/// Errors: kUnsupported for FLOAT16 or BFLOAT16 beside a quantized value; kInvalid for a Conv, Gemm
/// or MatMul of plain integers and another type (conv.C1, gemm.C1, mat_mul.C1). `where` names node
/// and value.
Result<void> CheckOperands(const format::Graph& graph);

}  // namespace qtx::convert
