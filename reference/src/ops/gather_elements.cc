#include "ops/move.h"
#include "ops/registry.h"
#include "ops/tuples.h"

namespace qtx::reference::ops {
namespace {

// Source: gather_elements.S1.
Result<format::Tensor> GatherElements(const Call& call) {
  return Selected(call, call.inputs[1]->dims, ElementsAlongAxis(call));
}

}  // namespace

const Operator kGatherElements = {.op_type = "GatherElements", .run = GatherElements};

}  // namespace qtx::reference::ops
