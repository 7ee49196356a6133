#include "ops/condition.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// Source: not.S1.
Result<format::Tensor> Not(const Call& call) {
  return RunCondition(call, [](bool a, bool) { return !a; });
}

}  // namespace

const Operator kNot = {.op_type = "Not", .run = Not};

}  // namespace qtx::reference::ops
