// Which integers of a model have one quantized type.
#pragma once

#include <map>
#include <string>

#include "qoperator/lift.h"

namespace qtx::convert {

/// An operator on plain integers whose results are elements of its first input, so that a type of
/// one scale is theirs too.
bool MovesElements(const format::Node& node);

/// True when such an operator moves what a QuantizeLinear gives.
bool MovesQuantized(const format::Graph& graph);

using ParametersOfValues = std::map<std::string, QdqParameters>;

/// Values that are neither constants nor FLOAT, by name: what their producer writes, else what all
/// who read them agree on. Nodes that only move elements pass a type on, and become lifts.
/// `declared` says it of graph inputs.
/// Errors: those of FromStock.
Result<ParametersOfValues> InferTypes(const GraphIndex& index, const ParametersOfValues& declared,
                                      std::map<std::size_t, Lift>& lifts);

}  // namespace qtx::convert
