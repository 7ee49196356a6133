#include "ops/binary.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// y = a * b over the reals.  Source: mul.S1, tflite.S6.
Result<format::Tensor> Mul(const Call& call) { return RunBinary(call, Binary::kMul); }

}  // namespace

const Operator kMul = {.op_type = "Mul", .run = Mul};

}  // namespace qtx::reference::ops
