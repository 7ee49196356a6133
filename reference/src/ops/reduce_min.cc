#include "ops/reduce.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// The least over axes.  Source: reduce_min.S1 to reduce_min.S5.
Result<format::Tensor> ReduceMin(const Call& call) { return ReduceExtreme(call, End::kLeast); }

}  // namespace

const Operator kReduceMin = {.op_type = "ReduceMin", .run = ReduceMin};

}  // namespace qtx::reference::ops
