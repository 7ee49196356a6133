#include "ops/condition.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// Source: equal.S1.
Result<format::Tensor> Equal(const Call& call) { return RunComparison(call, {.equal = true}); }

}  // namespace

const Operator kEqual = {.op_type = "Equal", .run = Equal};

}  // namespace qtx::reference::ops
