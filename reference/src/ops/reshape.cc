#include "ops/common.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// The same elements in another shape.  Source: reshape.S1 to reshape.S4.
Result<format::Tensor> Reshape(const Call& call) { return Reshaped(call); }

}  // namespace

const Operator kReshape = {.op_type = "Reshape", .run = Reshape};

}  // namespace qtx::reference::ops
