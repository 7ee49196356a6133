#include "ops/condition.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// Source: and.S1.
Result<format::Tensor> And(const Call& call) {
  return RunCondition(call, [](bool a, bool b) { return a && b; });
}

}  // namespace

const Operator kAnd = {.op_type = "And", .run = And};

}  // namespace qtx::reference::ops
