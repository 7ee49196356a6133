#include "ops/condition.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// Source: less.S1.
Result<format::Tensor> Less(const Call& call) { return RunComparison(call, {.less = true}); }

}  // namespace

const Operator kLess = {.op_type = "Less", .run = Less};

}  // namespace qtx::reference::ops
