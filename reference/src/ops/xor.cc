#include "ops/condition.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// Source: xor.S1.
Result<format::Tensor> Xor(const Call& call) {
  return RunCondition(call, [](bool a, bool b) { return a != b; });
}

}  // namespace

const Operator kXor = {.op_type = "Xor", .run = Xor};

}  // namespace qtx::reference::ops
