// Elements that follow before a model runs: of small tensors of integers that nodes compute from
// constants and from sizes that are known, as the shapes that a graph computes for Reshape.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "qtx/format/catalogue.h"

namespace qtx::format::catalogue {

/// Tensors of more elements are neither read nor computed.
inline constexpr std::int64_t kMostPropagated = 4096;

/// The elements of the node's first output, of type INT64, INT32 or BOOL; nullopt where they do
/// not follow. Takes time and memory in proportion to kMostPropagated at most, and to the number
/// of inputs. `folder` is that of external data.
/// REQUIRES: the node keeps its clauses, and the outputs have the shapes that follow.
std::optional<Tensor> PropagateElements(const Application& a, const std::string& folder);

}  // namespace qtx::format::catalogue
