#include "ops/binary.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// y = a + b over the reals.  Source: add.S1, tflite.S5.
Result<format::Tensor> Add(const Call& call) { return RunBinary(call, Binary::kAdd); }

}  // namespace

const Operator kAdd = {.op_type = "Add", .run = Add};

}  // namespace qtx::reference::ops
