// Add, Sub and Mul.
#pragma once

#include "engine/plan.h"

namespace qtx::backend::engine {

enum class BinaryOperation { kAdd, kSub, kMul };

/// In exact arithmetic, 8 bits per tensor.  Errors: kUnsupported for other types.
StepResult PrepareByteBinary(const NodePlan& node, BinaryOperation operation);

}  // namespace qtx::backend::engine
