#include "ops/registry.h"
#include "ops/variadic.h"

namespace qtx::reference::ops {
namespace {

// The sum of the inputs, element by element.  Source: sum.S1 to sum.S3.
Result<format::Tensor> Sum(const Call& call) { return SumOfInputs(call, SumKind::kSum); }

}  // namespace

const Operator kSum = {.op_type = "Sum", .run = Sum};

}  // namespace qtx::reference::ops
