#include "ops/common.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// The values of x, requantized where y's type differs.  Source: identity.S1, identity.S2.
Result<format::Tensor> Identity(const Call& call) { return Reshaped(call, call.inputs[0]->dims); }

}  // namespace

const Operator kIdentity = {
    .op_type = "Identity", .min_inputs = 1, .max_inputs = 1, .attributes = {}, .run = Identity};

}  // namespace qtx::reference::ops
