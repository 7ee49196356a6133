#include "ops/registry.h"
#include "ops/variadic.h"

namespace qtx::reference::ops {
namespace {

// The least of the inputs, element by element.  Source: min.S1 to min.S3.
Result<format::Tensor> Min(const Call& call) { return ExtremeOfInputs(call, End::kLeast); }

}  // namespace

const Operator kMin = {.op_type = "Min", .run = Min};

}  // namespace qtx::reference::ops
