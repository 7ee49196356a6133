// Pools of FLOAT in arithmetic `exact`, over the lines of images: MaxPool and AveragePool.
#pragma once

#include <memory>

#include "engine/ops/pool.h"

namespace qtx::backend::engine {

/// nullptr for other types than FLOAT, for three spatial axes and more, for lines of few elements.
/// REQUIRES: arithmetic `exact`.
std::unique_ptr<Step> MakeFloatMaxPool(const NodePlan& node, const PoolShape& pool, const Value* x,
                                       Value* y);
std::unique_ptr<Step> MakeFloatAveragePool(const NodePlan& node, const PoolShape& pool,
                                           bool count_padding, const Value* x, Value* y);

}  // namespace qtx::backend::engine
