// Forms: which operator on integers expresses a node of the extended form.
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

/// The form of `node`. nullopt if it has none and can be computed in binary32 between
/// DequantizeLinear and QuantizeLinear, as arithmetic float32 does.
/// Errors: kUnsupported for a product with an integer accumulator that no operator expresses.
Result<std::optional<Form>> FormOf(const format::Node& node, const GraphIndex& index,
                                   const QuantizedTypes& types);

/// True for a node whose origin in ONNX is `op_type`.
bool CameAs(const format::Node& node, std::string_view op_type);

/// W of MatMulNBits: 2, 4 or 8 bits, in blocks along the first of two axes. Signed codes are
/// written as unsigned, with half the range added.
bool IsNBitsWeight(const format::TensorType& type);

/// True when both map every stored value to the same real.
bool SameMeaning(const format::TensorType& a, const format::TensorType& b);

}  // namespace qtx::convert
