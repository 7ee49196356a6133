#include "ops/condition.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// Source: less_or_equal.S1.
Result<format::Tensor> LessOrEqual(const Call& call) {
  return RunComparison(call, {.less = true, .equal = true});
}

}  // namespace

const Operator kLessOrEqual = {.op_type = "LessOrEqual", .run = LessOrEqual};

}  // namespace qtx::reference::ops
