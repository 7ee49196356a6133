// Add, Sub, Mul, Div, Max, Min and PRelu of two FLOAT tensors in arithmetic `exact`: an IEEE 754
// operation rounds once, as exact.S5 asks.
#pragma once

#include <memory>
#include <span>

#include "engine/plan.h"

namespace qtx::backend::engine {

/// nullptr for other operators, types and numbers of inputs.  REQUIRES: arithmetic `exact`; inputs
/// broadcast to y.
std::unique_ptr<Step> MakeFloatBinary(const NodePlan& node, std::span<const Value* const> inputs,
                                      Value* y);

}  // namespace qtx::backend::engine
