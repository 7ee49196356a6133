// Functions of one FLOAT in arithmetic `exact`: by binary64 with an error bound, or by one
// operation that is exact; by numbers where the bound does not decide how the value rounds.
#pragma once

#include <memory>

#include "engine/ops/function.h"
#include "engine/plan.h"

namespace qtx::backend::engine {

/// nullptr for other functions and types. `exactly`: of FunctionOf.  REQUIRES: arithmetic `exact`;
/// x and y have equal dims.
std::unique_ptr<Step> MakeFloatFunction(const NodePlan& node, const Value* x, Value* y,
                                        Function exactly);

}  // namespace qtx::backend::engine
