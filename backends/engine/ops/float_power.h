// Pow of FLOAT in arithmetic `exact`, by binary64 with an error bound.
#pragma once

#include <memory>

#include "engine/plan.h"

namespace qtx::backend::engine {

/// nullptr for other types.
std::unique_ptr<Step> MakeFloatPower(const NodePlan& node, const Value* x, const Value* exponent,
                                     Value* y);

}  // namespace qtx::backend::engine
