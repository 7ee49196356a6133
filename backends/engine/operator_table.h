// Which operators there are, and what prepares each.
#pragma once

#include "engine/engine.h"
#include "engine/plan.h"

namespace qtx::backend::engine {

/// The step of one node, by the kernels of its operator or by the general path.
/// REQUIRES: NodePlan::Check.
/// Errors: kUnsupported for another operator; those of the operator's preparation.
StepResult PrepareNode(const NodePlan& plan, Path path);

}  // namespace qtx::backend::engine
