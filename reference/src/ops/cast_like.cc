#include "ops/cast.h"
#include "ops/registry.h"

namespace qtx::reference::ops {

// Source: cast_like.S1.
const Operator kCastLike = {.op_type = "CastLike", .run = RunCast};

}  // namespace qtx::reference::ops
