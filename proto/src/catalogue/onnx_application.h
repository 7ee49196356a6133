// Checks of a node against ONNX's own schema of its operator.
#pragma once

#include <cstdint>
#include <span>

#include "qtx/format/onnx_operators.h"
#include "qtx/format/result.h"

namespace qtx::format::catalogue {

/// Whether its attributes are those of the entry. Those that begin with "__" are an
/// implementation's own, as ONNX's checker has it.  Errors: kInvalid, of graph.C6.
Result<void> CheckOnnxAttributes(const OnnxOperator& op, const Node& node, std::int64_t opset);

/// Whether `node` is what the entry allows; kUndefined is a type that is not known, and types past
/// the end of a list are not, either. `opset` is for the message.
/// Errors: kInvalid, `where` below the node; its clause graph.C4 (deprecated), graph.C5 (number of
/// inputs and outputs), graph.C6 (attributes), graph.C7 (types).
Result<void> CheckOnnxApplication(const OnnxOperator& op, const Node& node, std::int64_t opset,
                                  std::span<const ElementType> input_types,
                                  std::span<const ElementType> output_types);

}  // namespace qtx::format::catalogue
