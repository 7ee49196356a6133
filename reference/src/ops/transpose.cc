#include <algorithm>

#include "ops/move.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

using format::AttributeType;
using format::Dims;

// perm, or the axes reversed.
Result<Dims> Permutation(const Call& call, std::size_t rank) {
  Dims reversed;
  for (std::size_t i = rank; i-- > 0;) reversed.push_back(static_cast<std::int64_t>(i));
  Dims perm = call.node.IntsOr("perm", reversed);
  Dims sorted = perm;
  std::ranges::sort(sorted);
  std::ranges::reverse(reversed);
  if (sorted == reversed) return perm;
  return Error{ErrorCode::kInvalid, "attribute 'perm'",
               "found " + format::ToString(perm) + ", expected a permutation of the " +
                   std::to_string(rank) + " axes"};
}

// y[i_perm[0], i_perm[1], ...] = x[i_0, i_1, ...].  Source: transpose.S1.
Result<format::Tensor> Transpose(const Call& call) {
  const Dims& from = call.inputs[0]->dims;
  QTX_ASSIGN_OR_RETURN(const Dims perm, Permutation(call, from.size()));
  Dims dims;
  for (const std::int64_t axis : perm) dims.push_back(from[static_cast<std::size_t>(axis)]);
  return Permuted(call, from, perm, std::move(dims));
}

constexpr AttributeRule kTransposeAttributes[] = {{"perm", AttributeType::kInts}};

}  // namespace

const Operator kTranspose = {.op_type = "Transpose",
                             .min_inputs = 1,
                             .max_inputs = 1,
                             .attributes = kTransposeAttributes,
                             .run = Transpose};

}  // namespace qtx::reference::ops
