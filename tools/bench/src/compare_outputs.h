#pragma once

#include <optional>
#include <span>

#include "qtx/bench/race.h"
#include "qtx/format/tensor.h"

namespace qtx::bench {

/// Element by element; nullopt where number, types or dims are others, so that none belongs to one.
std::optional<Comparison> CompareOutputs(std::span<const format::Tensor> expected,
                                         std::span<const format::Tensor> got);

}  // namespace qtx::bench
