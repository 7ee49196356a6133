#include "ops/registry.h"
#include "ops/scatter.h"
#include "ops/tuples.h"

namespace qtx::reference::ops {
namespace {

// Source: scatter_elements.S1.
Result<format::Tensor> ScatterElements(const Call& call) {
  return Scattered(call, ElementsAlongAxis(call));
}

}  // namespace

const Operator kScatterElements = {.op_type = "ScatterElements", .run = ScatterElements};

}  // namespace qtx::reference::ops
