// Which operators there are, and what prepares each.
#pragma once

#include "engine/engine.h"
#include "engine/plan.h"

namespace qtx::backend::engine {

/// The step of one node, by the kernels of its operator or by the general path. A node of an inner
/// model (inner.h) may have attributes that stand in no file.
/// Errors: kUnsupported for another operator or attribute; those of the operator's preparation.
StepResult PrepareNode(const NodePlan& plan, Path path, bool inner);

}  // namespace qtx::backend::engine
