// Infers the quantized types of integer values.
#pragma once

#include <map>
#include <string>

#include "qoperator/lift.h"

namespace qtx::convert {

/// True for operators whose results are elements of their first input, so that a per-tensor type
/// applies to them too.
bool MovesElements(const format::Node& node);

/// True when such an operator moves the output of a QuantizeLinear.
bool MovesQuantized(const format::Graph& graph);

using ParametersOfValues = std::map<std::string, QdqParameters>;

/// Types of values that are neither constants nor FLOAT: from the producer, else from the readers
/// if they agree. Nodes that only move elements propagate a type and become lifts. `declared` has
/// the types of graph inputs.
/// Errors: those of FromStock.
Result<ParametersOfValues> InferTypes(const GraphIndex& index, const ParametersOfValues& declared,
                                      std::map<std::size_t, Lift>& lifts);

}  // namespace qtx::convert
