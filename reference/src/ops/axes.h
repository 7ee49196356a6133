// The axes of Squeeze and Unsqueeze, an input since opset 13 and an attribute before.
#pragma once

#include <optional>
#include <vector>

#include "ops/common.h"

namespace qtx::reference {

/// One flag per axis of a shape of `rank`; nullopt when no axes are given.
/// Errors: kInvalid for an axis outside [-rank, rank) or named twice.
Result<std::optional<std::vector<bool>>> NamedAxes(const Call& call, std::size_t rank);

}  // namespace qtx::reference
