// The windows of the pools.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/plan.h"
#include "engine/window.h"

namespace qtx::backend::engine {

/// A pool over the spatial axes of x[N, C, ...].
struct PoolShape {
  std::vector<WindowAxis> axes;
  std::int64_t planes = 0;  // N * C
  format::Dims to;          // dims of the result
};

/// Errors: those of WindowAxesOf; kUnsupported if a window has no element: it is completely in
/// padding that does not count.
Result<PoolShape> PoolShapeOf(const NodePlan& node, bool global);

/// True if a mean includes padding, as real zeros.
bool CountsPadding(const NodePlan& node, bool global);

}  // namespace qtx::backend::engine
