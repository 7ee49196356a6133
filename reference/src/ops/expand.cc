#include "ops/move.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// Both shapes broadcast to one; data is repeated there.  Source: expand.S1, expand.S2.
Result<format::Tensor> Expand(const Call& call) {
  const format::Dims& from = call.inputs[0]->dims;
  QTX_ASSIGN_OR_RETURN(const format::Dims shape, Int64sAt(call, 1));
  const auto dims = Broadcast(from, shape);
  if (!dims.has_value()) return At(InputName(call, 1), dims.error());
  return Selected(call, *dims, BroadcastIndices(from, *dims));
}

}  // namespace

const Operator kExpand = {
    .op_type = "Expand", .min_inputs = 2, .max_inputs = 2, .attributes = {}, .run = Expand};

}  // namespace qtx::reference::ops
