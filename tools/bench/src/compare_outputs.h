#pragma once

#include <optional>
#include <span>

#include "qtx/bench/race.h"
#include "qtx/format/tensor.h"

namespace qtx::bench {

/// Compares element by element; nullopt if number, types or dims of the outputs differ.
std::optional<Comparison> CompareOutputs(std::span<const format::Tensor> expected,
                                         std::span<const format::Tensor> got);

}  // namespace qtx::bench
