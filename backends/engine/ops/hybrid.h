// FULLY_CONNECTED of FLOAT by 8-bit weights in TFLite's arithmetics: tflite.S14.
#pragma once

#include <memory>

#include "engine/ops/matrix.h"
#include "engine/ops/reduction.h"

namespace qtx::backend::engine {

/// True for a node of tflite.S14. The engine has it for constant weights and a bias of FLOAT.
bool IsHybrid(const NodePlan& node);
/// `general`: computes the node where x has an infinity or NaN.  REQUIRES: IsHybrid, weights and
/// bias as said there.
std::unique_ptr<Step> MakeHybrid(const NodePlan& node, const MatrixShape& shape, const Sum& sum,
                                 Value* y, std::unique_ptr<Step> general);

}  // namespace qtx::backend::engine
