#include "ops/common.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// With axes of size 1 at the named positions.  Source: unsqueeze.S1 (ONNX Unsqueeze-13).
Result<format::Tensor> Unsqueeze(const Call& call) { return Reshaped(call); }

}  // namespace

const Operator kUnsqueeze = {.op_type = "Unsqueeze", .run = Unsqueeze};

}  // namespace qtx::reference::ops
