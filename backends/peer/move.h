// Output dims of operators that only move elements, and of broadcasting.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "peer/graph.h"

namespace qtx::backend::peer {

/// Cast, Flatten, Identity, Reshape, Squeeze and Unsqueeze keep the elements in order: the dims of
/// their result; nullopt for another operator.  Errors: kUnsupported for shapes and axes that the
/// model computes.
Result<std::optional<format::Dims>> ReshapedDims(const Reader& node);

/// `perm` of a Transpose.
Result<std::vector<std::int64_t>> PermutationOf(const Reader& node, std::int64_t rank);

/// The dims of a and b broadcast together.  REQUIRES: they fit.
format::Dims Broadcast(format::Dims a, format::Dims b);

/// `dims` with ones prepended up to `rank` axes.
format::Dims Promoted(format::Dims dims, std::size_t rank);

}  // namespace qtx::backend::peer
