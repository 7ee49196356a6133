#include "ops/registry.h"
#include "ops/variadic.h"

namespace qtx::reference::ops {
namespace {

// The mean of the inputs, element by element.  Source: mean.S1 to mean.S3.
Result<format::Tensor> Mean(const Call& call) { return SumOfInputs(call, SumKind::kMean); }

}  // namespace

const Operator kMean = {.op_type = "Mean", .run = Mean};

}  // namespace qtx::reference::ops
