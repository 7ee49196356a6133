// Softmax in arithmetics other than `exact`.
#pragma once

#include <optional>

#include "engine/plan.h"

namespace qtx::backend::engine {

/// The step in the node's arithmetic; nullopt if that is `exact`, or is defined as exact for these
/// types (tflite.S11). Errors: as PrepareSoftmax.
Result<std::optional<std::unique_ptr<Step>>> PrepareInexactSoftmax(const NodePlan& node);

}  // namespace qtx::backend::engine
