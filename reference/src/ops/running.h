// What CumSum and CumProd share: the lines along an axis, in the order of their terms.
#pragma once

#include <cstdint>
#include <functional>

#include "ops/common.h"

namespace qtx::reference {

/// Calls `put` with the first element of each line of input 0 along input 1, the step to the next
/// one and their number; with `reverse` 1 the first is the last along the axis.
/// Source: cum_sum.S2.
void ForEachRunningLine(
    const Call& call,
    const std::function<void(std::int64_t first, std::int64_t step, std::int64_t count)>& put);

}  // namespace qtx::reference
