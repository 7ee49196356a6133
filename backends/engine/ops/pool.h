// What the pools share: their windows.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/plan.h"
#include "engine/window.h"

namespace qtx::backend::engine {

/// A pool over the spatial axes of x[N, C, ...], whatever its elements are.
struct PoolShape {
  std::vector<WindowAxis> axes;
  std::int64_t planes = 0;  // N * C
  format::Dims to;          // dims of the result
};

/// Errors: those of WindowAxesOf; kUnsupported for windows that lie wholly in the padding where
/// that does not count: neither a maximum nor a mean of nothing has a value.
Result<PoolShape> PoolShapeOf(const NodePlan& node, bool global);

/// Whether padding takes part in a mean, as real zeros.
bool CountsPadding(const NodePlan& node, bool global);

}  // namespace qtx::backend::engine
