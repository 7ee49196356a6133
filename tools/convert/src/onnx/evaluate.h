// Computes the nodes between a constant and the quantizer that reads it: they move, copy, repeat or
// clip elements, or change their type without rounding.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "qtx/format/model.h"

namespace qtx::convert {

/// True for Identity, Constant, ConstantOfShape, Shape, Cast, Reshape, Flatten, Squeeze, Unsqueeze,
/// Transpose and Clip of ai.onnx.
bool CanEvaluate(const format::Node& node);

/// The result of `node` for constant inputs, nullptr where an optional one is absent; every bit as
/// ONNX defines it.  nullopt: ONNX leaves the result open, a Cast would round, the node breaks its
/// own rules, or the result has more than `most_bytes`, which is found out before it is allocated.
/// REQUIRES: CanEvaluate(node), one input for each name of the node.
std::optional<format::Tensor> Evaluate(const format::Node& node,
                                       std::span<const format::Tensor* const> inputs,
                                       std::int64_t most_bytes);

}  // namespace qtx::convert
