#include "ops/extreme.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// Source: arg_min.S1.
Result<format::Tensor> ArgMin(const Call& call) { return RunArg(call, Extreme::kLeast); }

}  // namespace

const Operator kArgMin = {.op_type = "ArgMin", .run = ArgMin};

}  // namespace qtx::reference::ops
