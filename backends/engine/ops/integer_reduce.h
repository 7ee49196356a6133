// ReduceSum, ReduceMean, ReduceMax and ReduceMin of integers of 8 and 16 bits, over any axes.
#pragma once

#include <vector>

#include "engine/plan.h"

namespace qtx::backend::engine {

/// `reduced`: of each axis, whether it is.  Errors: kUnsupported, before anything is planned, for
/// another operator, for types that are not integers of 8 or 16 bits per tensor, or to a result
/// that no Requantizer makes, and for groups that are empty or whose sums might leave int32.
StepResult PrepareIntegerReduce(const NodePlan& node, const std::vector<bool>& reduced);

}  // namespace qtx::backend::engine
