// Add, Sub and Mul in arithmetics other than `exact`.
#pragma once

#include <optional>

#include "engine/plan.h"

namespace qtx::backend::engine {

enum class BinaryOperation { kAdd, kSub, kMul };

/// The step in the node's arithmetic; nothing where that is exact, for these types too
/// (tflite.S11). Errors: kUnsupported for other types.
Result<std::optional<std::unique_ptr<Step>>> PrepareInexactBinary(const NodePlan& node,
                                                                  BinaryOperation operation);

}  // namespace qtx::backend::engine
