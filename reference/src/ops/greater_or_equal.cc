#include "ops/condition.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// Source: greater_or_equal.S1.
Result<format::Tensor> GreaterOrEqual(const Call& call) {
  return RunComparison(call, {.equal = true, .greater = true});
}

}  // namespace

const Operator kGreaterOrEqual = {.op_type = "GreaterOrEqual", .run = GreaterOrEqual};

}  // namespace qtx::reference::ops
