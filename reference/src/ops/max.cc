#include "ops/registry.h"
#include "ops/variadic.h"

namespace qtx::reference::ops {
namespace {

// The greatest of the inputs, element by element.  Source: max.S1 to max.S3.
Result<format::Tensor> Max(const Call& call) { return ExtremeOfInputs(call, End::kGreatest); }

}  // namespace

const Operator kMax = {.op_type = "Max", .run = Max};

}  // namespace qtx::reference::ops
