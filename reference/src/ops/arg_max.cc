#include "ops/extreme.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// Source: arg_max.S1.
Result<format::Tensor> ArgMax(const Call& call) { return RunArg(call, Extreme::kGreatest); }

}  // namespace

const Operator kArgMax = {.op_type = "ArgMax", .run = ArgMax};

}  // namespace qtx::reference::ops
