#include "ops/reduce.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// The greatest over axes.  Source: reduce_max.S1 to reduce_max.S5.
Result<format::Tensor> ReduceMax(const Call& call) { return ReduceExtreme(call, End::kGreatest); }

}  // namespace

const Operator kReduceMax = {.op_type = "ReduceMax", .run = ReduceMax};

}  // namespace qtx::reference::ops
