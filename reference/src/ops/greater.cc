#include "ops/condition.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// Source: greater.S1.
Result<format::Tensor> Greater(const Call& call) { return RunComparison(call, {.greater = true}); }

}  // namespace

const Operator kGreater = {.op_type = "Greater", .run = Greater};

}  // namespace qtx::reference::ops
