#include "ops/move.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

using format::Dims;

// Row and column within the block come before the channel.  Source: space_to_depth.S1.
Result<format::Tensor> SpaceToDepth(const Call& call) {
  const Dims& from = call.inputs[0]->dims;
  const std::int64_t block = call.Int("blocksize");
  QTX_ASSIGN_OR_RETURN(const Dims dims, call.OutputDims());
  if (format::ElementCount(*call.inputs[0]) == 0) return Selected(call, dims, {});
  return Permuted(call, {from[0], from[1], dims[2], block, dims[3], block}, {0, 3, 5, 1, 2, 4});
}

}  // namespace

const Operator kSpaceToDepth = {.op_type = "SpaceToDepth", .run = SpaceToDepth};

}  // namespace qtx::reference::ops
