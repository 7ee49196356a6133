#include "ops/extreme.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// Source: arg_max.S1.
Result<format::Tensor> ArgMax(const Call& call) { return RunArg(call, Extreme::kGreatest); }

}  // namespace

const Operator kArgMax = {.op_type = "ArgMax",
                          .min_inputs = 1,
                          .max_inputs = 1,
                          .attributes = ArgAttributes(),
                          .infer = InferIndices,
                          .run = ArgMax};

}  // namespace qtx::reference::ops
