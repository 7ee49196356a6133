#include "peer/move.h"

#include <algorithm>
#include <numeric>
#include <string_view>

namespace qtx::backend::peer {

Result<std::optional<format::Dims>> ReshapedDims(const Reader& node) {
  constexpr std::string_view kOps = " Cast Flatten Identity Reshape Squeeze Unsqueeze ";
  if (kOps.find(" " + node.op() + " ") == std::string_view::npos) {
    return std::optional<format::Dims>();
  }
  if (node.op() == "Cast" &&
      (node.Int("saturate") != 1 || node.node().Find("round_mode") != nullptr)) {
    return node.Unsupported("saturate 0 or a round_mode");
  }
  QTX_RETURN_IF_ERROR(node.HasOneOutput());
  if (node.Has(1)) {
    QTX_ASSIGN_OR_RETURN(const Value* list, node.Input(1));
    if (!list->constant) return node.Unsupported("input 1 is not constant");
  }
  QTX_ASSIGN_OR_RETURN(format::Dims dims, node.InferredDims());
  return std::optional(std::move(dims));
}

Result<std::vector<std::int64_t>> PermutationOf(const Reader& node, std::int64_t rank) {
  QTX_RETURN_IF_ERROR(node.HasOneOutput());
  std::vector<std::int64_t> reversed(static_cast<std::size_t>(rank));
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  return node.node().IntsOr("perm", reversed);
}

format::Dims Broadcast(format::Dims a, format::Dims b) {
  const std::size_t rank = std::max(a.size(), b.size());
  a = Promoted(std::move(a), rank);
  b = Promoted(std::move(b), rank);
  for (std::size_t i = 0; i < rank; ++i) a[i] = std::max(a[i], b[i]);
  return a;
}

format::Dims Promoted(format::Dims dims, std::size_t rank) {
  if (dims.size() < rank) dims.insert(dims.begin(), rank - dims.size(), 1);
  return dims;
}

}  // namespace qtx::backend::peer
