#include "ops/binary.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// y = a - b over the reals.  Source: sub.S1, tflite.S5.
Result<format::Tensor> Sub(const Call& call) { return RunBinary(call, Binary::kSub); }

}  // namespace

const Operator kSub = {.op_type = "Sub", .run = Sub};

}  // namespace qtx::reference::ops
