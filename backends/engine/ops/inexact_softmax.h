// Softmax in arithmetics other than `exact`.
#pragma once

#include <optional>

#include "engine/plan.h"

namespace qtx::backend::engine {

/// The step in the node's arithmetic; nothing where that is exact, for these types too
/// (tflite.S11). Errors: as PrepareSoftmax.
Result<std::optional<std::unique_ptr<Step>>> PrepareInexactSoftmax(const NodePlan& node);

}  // namespace qtx::backend::engine
