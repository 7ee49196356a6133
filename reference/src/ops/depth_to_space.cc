#include "ops/move.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

using format::Dims;

// Channels as (row, column, depth) or (depth, row, column); row and column of the block become part
// of y's.  Source: depth_to_space.S1 to depth_to_space.S3.
Result<format::Tensor> DepthToSpace(const Call& call) {
  const Dims& from = call.inputs[0]->dims;
  const std::int64_t block = call.Int("blocksize");
  QTX_ASSIGN_OR_RETURN(const Dims dims, call.OutputDims());
  if (format::ElementCount(*call.inputs[0]) == 0) return Selected(call, dims, {});
  const std::int64_t depth = dims[1];
  if (call.String("mode") == "CRD") {
    return Permuted(call, {from[0], depth, block, block, from[2], from[3]}, {0, 1, 4, 2, 5, 3});
  }
  return Permuted(call, {from[0], block, block, depth, from[2], from[3]}, {0, 3, 4, 1, 5, 2});
}

}  // namespace

const Operator kDepthToSpace = {.op_type = "DepthToSpace", .run = DepthToSpace};

}  // namespace qtx::reference::ops
