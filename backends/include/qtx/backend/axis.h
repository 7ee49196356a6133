// Axes as ONNX's attributes give them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace qtx::backend {

/// `axis`, counted from the end of `rank` axes when negative.  REQUIRES: it is within them, as
/// the clauses of the operators demand.
inline std::size_t AxisOf(std::int64_t axis, std::size_t rank) {
  return static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis);
}

}  // namespace qtx::backend
