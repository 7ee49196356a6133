// Add, Sub and Mul of FLOAT in arithmetic `exact`: an IEEE 754 operation rounds once, as exact.S5
// asks.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "engine/plan.h"

namespace qtx::backend::engine {

/// nullptr for other operators, types and numbers of inputs.  REQUIRES: arithmetic `exact`; inputs
/// broadcast to y.
std::unique_ptr<Step> MakeFloatBinary(std::string_view op_type,
                                      std::span<const Value* const> inputs, Value* y);

}  // namespace qtx::backend::engine
