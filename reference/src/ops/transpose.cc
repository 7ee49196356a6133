#include <numeric>

#include "ops/move.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

using format::Dims;

// y[i_perm[0], i_perm[1], ...] = x[i_0, i_1, ...].  Source: transpose.S1.
Result<format::Tensor> Transpose(const Call& call) {
  const Dims& from = call.inputs[0]->dims;
  std::vector<std::int64_t> reversed(from.size());
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  return Permuted(call, from, call.node.IntsOr("perm", reversed));
}

}  // namespace

const Operator kTranspose = {.op_type = "Transpose", .run = Transpose};

}  // namespace qtx::reference::ops
