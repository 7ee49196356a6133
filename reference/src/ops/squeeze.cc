#include "ops/common.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// Without axes of size 1: the named ones, or all.  Source: squeeze.S1 (ONNX Squeeze-13).
Result<format::Tensor> Squeeze(const Call& call) { return Reshaped(call); }

}  // namespace

const Operator kSqueeze = {.op_type = "Squeeze", .run = Squeeze};

}  // namespace qtx::reference::ops
