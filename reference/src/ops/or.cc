#include "ops/condition.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// Source: or.S1.
Result<format::Tensor> Or(const Call& call) {
  return RunCondition(call, [](bool a, bool b) { return a || b; });
}

}  // namespace

const Operator kOr = {.op_type = "Or", .run = Or};

}  // namespace qtx::reference::ops
