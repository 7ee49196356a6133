#include "ops/common.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// The values of x, requantized where y's type differs.  Source: identity.S1, identity.S2.
Result<format::Tensor> Identity(const Call& call) { return Reshaped(call); }

}  // namespace

const Operator kIdentity = {.op_type = "Identity", .run = Identity};

}  // namespace qtx::reference::ops
