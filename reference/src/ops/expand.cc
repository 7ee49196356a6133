#include "ops/move.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// Both shapes broadcast to one; data is repeated there.  Source: expand.S1, expand.S2.
Result<format::Tensor> Expand(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const format::Dims dims, call.OutputDims());
  return Selected(call, dims, BroadcastIndices(call.inputs[0]->dims, dims));
}

}  // namespace

const Operator kExpand = {.op_type = "Expand", .run = Expand};

}  // namespace qtx::reference::ops
