#include "ops/common.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// [product of the axes before `axis`, product of the rest].  Source: flatten.S1, flatten.S2.
Result<format::Tensor> Flatten(const Call& call) { return Reshaped(call); }

}  // namespace

const Operator kFlatten = {.op_type = "Flatten", .run = Flatten};

}  // namespace qtx::reference::ops
