// Add, Sub and Mul of quantized integers of 8 and 16 bits in arithmetic `exact`, by binary64 and
// what its operations lose.
#pragma once

#include <memory>

#include "engine/ops/binary.h"

namespace qtx::backend::engine {

/// nullptr for other types and for parameters along an axis.  REQUIRES: arithmetic `exact`; inputs
/// broadcast to y.
std::unique_ptr<Step> MakeWordBinary(const NodePlan& node, BinaryOperation operation,
                                     const Value* a, const Value* b, Value* y);

}  // namespace qtx::backend::engine
