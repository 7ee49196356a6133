// Which operator on integers says what a node of the extended form does.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "onnx/graph_index.h"
#include "onnx/quantized_types.h"

namespace qtx::convert {

struct Form {
  std::string op_type, domain;
};

/// The form of `node`. nullopt: it has none, but its reals computed in binary32 between
/// DequantizeLinear and QuantizeLinear are what the arithmetic float32 gives it.
/// Errors: kUnsupported for a product with an integer accumulator that no operator says.
Result<std::optional<Form>> FormOf(const format::Node& node, const GraphIndex& index,
                                   const QuantizedTypes& types);

/// True for a node that `origin` of ONNX names `op_type`.
bool CameAs(const format::Node& node, std::string_view op_type);

/// W of MatMulNBits: 2, 4 or 8 bits, in blocks along the first of two axes. Signed codes are
/// written as unsigned ones, half the range above.
bool IsNBitsWeight(const format::TensorType& type);

/// True when both say the same of each stored value.
bool SameMeaning(const format::TensorType& a, const format::TensorType& b);

}  // namespace qtx::convert
