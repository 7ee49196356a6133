// Add, Sub and Mul in arithmetics other than `exact`.
#pragma once

#include <optional>

#include "engine/ops/binary.h"

namespace qtx::backend::engine {

/// The step in the node's arithmetic; nullopt if that is `exact`, or is defined as exact for these
/// types (tflite.S11). Errors: kUnsupported for other types.
Result<std::optional<std::unique_ptr<Step>>> PrepareInexactBinary(const NodePlan& node,
                                                                  BinaryOperation operation);

}  // namespace qtx::backend::engine
